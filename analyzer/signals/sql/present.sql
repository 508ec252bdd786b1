SELECT pool, worker, signal, part, metric, dialect, count() AS points, max(time_ns) AS last_ns
FROM pool_signals(from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, wanted = [])
WHERE {model:String} = '' OR model IN ('', {model:String})
GROUP BY pool, worker, signal, part, metric, dialect
ORDER BY pool, worker, signal, part
