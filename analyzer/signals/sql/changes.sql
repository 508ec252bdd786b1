SELECT
    pool, worker, signal, part, metric, max(moves) AS moves, max(isNotNull(seconds)) AS accumulates, count() AS points,
    min(time_ns) AS first_ns, max(time_ns) AS last_ns, argMax(value, time_ns) AS last_value,
    if(accumulates, sum(ifNull(value, 0)) > 0, min(value) != max(value) OR any(value) != 0) AS changed
FROM pool_signals(from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, wanted = {signals:Array(String)})
WHERE {model:String} = '' OR model IN ('', {model:String})
GROUP BY pool, worker, signal, part, metric
ORDER BY pool, worker, signal, part
