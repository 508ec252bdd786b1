-- Imbalance index by pool: the busiest worker's queue (waiting and running) over the mean of its pool; 1 is even.
SELECT time, if(pool = '', 'unknown', pool) AS role, max(level) / nullIf(avg(level), 0) AS value
FROM
(
    SELECT time, pool, worker, sum(mean) AS level
    FROM
    (
        SELECT $__timeInterval(at) AS time, pool, worker, series, part, signal, avg(value) AS mean
        FROM pool_signals(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, wanted = ['queue_depth', 'running'])
        WHERE isNotNull(value)
            AND $__conditionalAll(model IN (${model:singlequote}, ''), $model)
            AND $__conditionalAll(pool IN (${pool:singlequote}), $pool)
            AND $__conditionalAll(worker IN (${worker:singlequote}), $worker)
        GROUP BY time, pool, worker, series, part, signal
    )
    GROUP BY time, pool, worker
)
GROUP BY time, role
HAVING count() > 1 AND isNotNull(value)
ORDER BY time, role
