-- Tokens of KV that a hand-off holds, by pool: mean over each step, added up over workers.
SELECT time, if(pool = '', 'unknown', pool) AS role, sum(level) AS value
FROM
(
    SELECT time, pool, worker, sum(mean) AS level
    FROM
    (
        SELECT $__timeInterval(at) AS time, pool, worker, series, part, avg(value) AS mean
        FROM pool_signals(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, wanted = ['kv_pinned_tokens'])
        WHERE isNotNull(value)
            AND $__conditionalAll(model IN (${model:singlequote}, ''), $model)
            AND $__conditionalAll(pool IN (${pool:singlequote}), $pool)
            AND $__conditionalAll(worker IN (${worker:singlequote}), $worker)
        GROUP BY time, pool, worker, series, part
    )
    GROUP BY time, pool, worker
)
GROUP BY time, role
ORDER BY time, role
