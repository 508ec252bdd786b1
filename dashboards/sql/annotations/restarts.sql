-- Workers whose counters started anew: they crashed or were restarted.
SELECT toStartOfMinute(at) AS time, 'restart' AS title, concat(worker, ' (', if(pool = '', 'unknown pool', pool), ') started anew') AS text, 'restart' AS tags
FROM pool_signals(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, wanted = [])
WHERE reset AND $__conditionalAll(worker IN (${worker:singlequote}), $worker)
GROUP BY time, worker, pool
ORDER BY time
LIMIT 200
