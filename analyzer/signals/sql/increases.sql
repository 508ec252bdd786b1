SELECT
    pool, worker, model, signal, part, metric,
    sumOrNull(value) AS increase, sum(ifNull(seconds, 0)) AS series_seconds, uniqExact(series) AS series_count,
    countIf(isNull(value)) AS unknown_steps, countIf(reset) AS resets, min(time_ns) AS first_ns, max(time_ns) AS last_ns
FROM pool_signals(from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, wanted = {signals:Array(String)})
WHERE (endsWith(signal, '_total') OR endsWith(signal, '_seconds_sum') OR endsWith(signal, '_seconds_count'))
    AND ({model:String} = '' OR model IN ('', {model:String}))
GROUP BY pool, worker, model, signal, part, metric
ORDER BY pool, worker, model, signal, part
