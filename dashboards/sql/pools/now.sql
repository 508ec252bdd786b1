-- The newest reading of each worker, and whether it is saturated: its queue is not empty and its KV cache is over nine tenths used.
SELECT
    role, name,
    maxOrNullIf(newest, signal = 'queue_depth') AS queue, maxOrNullIf(newest, signal = 'running') AS running,
    maxOrNullIf(newest, signal = 'kv_used_fraction') AS kv_used, maxOrNullIf(newest, signal = 'kv_pinned_tokens') AS kv_pinned,
    multiIf(isNull(queue) OR isNull(kv_used), 'not known', queue > 0 AND kv_used > 0.9, 'saturated', 'has room') AS state,
    max(seen) AS last_reading
FROM
(
    SELECT if(pool = '', 'unknown', pool) AS role, worker AS name, signal, argMax(value, at) AS newest, max(at) AS seen
    FROM pool_signals(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, wanted = ['queue_depth', 'running', 'kv_used_fraction', 'kv_pinned_tokens'])
    WHERE isNotNull(value)
        AND $__conditionalAll(model IN (${model:singlequote}, ''), $model)
        AND $__conditionalAll(pool IN (${pool:singlequote}), $pool)
        AND $__conditionalAll(worker IN (${worker:singlequote}), $worker)
    GROUP BY role, name, signal
)
GROUP BY role, name
ORDER BY role, name
LIMIT 500
