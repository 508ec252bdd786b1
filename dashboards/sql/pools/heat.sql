-- Used part of the KV cache by worker.
SELECT $__timeInterval(at) AS time, concat(if(pool = '', 'unknown', pool), ' ', worker) AS name, avg(p.value) AS value
FROM pool_signals(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, wanted = ['kv_used_fraction']) AS p
WHERE isNotNull(p.value)
    AND $__conditionalAll(model IN (${model:singlequote}, ''), $model)
    AND $__conditionalAll(pool IN (${pool:singlequote}), $pool)
    AND $__conditionalAll(worker IN (${worker:singlequote}), $worker)
GROUP BY time, name
ORDER BY time, name
