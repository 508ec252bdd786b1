-- Metrics about hand-offs and queues that read nothing but 0 in the window, with how often they were read.
SELECT metric, CAST(anyLast(worker), 'String') AS worker, count() AS points
FROM signals
WHERE time_ns > {from_ns:Int64} AND time_ns <= {to_ns:Int64} AND kind IN ('gauge', 'sum')
    AND match(metric, '(?i)(transfer|xfer|nixl|mooncake|inflight|waiting|queue)')
    AND NOT match(metric, '(?i)(fail|error|expire|abort|timeout|retr|reject)')
    AND ({model:String} = '' OR model IN ('', {model:String}))
GROUP BY metric
HAVING max(value) = 0 AND min(value) = 0 AND points >= 4
