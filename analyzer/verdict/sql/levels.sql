-- Gauges of the window by worker, in steps: several series of one worker add up (counts) or are averaged (fractions).
SELECT
    cityHash64(worker) AS worker, toUInt8(indexOf(['prefill', 'decode', 'router', 'colocated'], pool)) AS pool,
    if(any(of_model) = '', toUInt64(0), cityHash64(any(of_model))) AS model,
    toUInt8(indexOf({signals:Array(String)}, signal) - 1) AS signal, cityHash64(part) AS part,
    toFloat64(max(last_ns) - {origin_ns:Int64}) / 1e9 AS at,
    toFloat64(multiIf(endsWith(any(signal_name), '_fraction'), avg(level), any(signal_name) IN ('up', 'pod_ready'), min(level),
        any(signal_name) IN ('oldest_request_age', 'process_start_time'), max(level), sum(level))) AS value
FROM
(
    SELECT CAST(worker, 'String') AS worker, pool, any(CAST(model, 'String')) AS of_model, signal, signal AS signal_name, part, series, intDiv(time_ns, {step_ns:Int64}) AS step, max(time_ns) AS last_ns, argMax(assumeNotNull(value), time_ns) AS level
    FROM pool_signals(from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, wanted = {signals:Array(String)})
    WHERE isNotNull(value) AND (empty({models:Array(String)}) OR model = '' OR has({models:Array(String)}, CAST(model, 'String')))
    GROUP BY worker, pool, signal, part, series, step
)
GROUP BY worker, pool, signal, part, step
ORDER BY signal, worker, part, at
