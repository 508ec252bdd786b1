-- Metrics about hand-offs and queues: those that read nothing but 0 in the window, and gauges of the last transfer's time or rate, as older
-- engines export in place of a histogram (what they read before a first transfer, 0, says nothing).
SELECT
    metric, any(unit) AS unit, CAST(anyLast(worker), 'String') AS worker, count() AS points,
    max(value) = 0 AND min(value) = 0 AS silent, avgIf(value, value > 0) AS mean, max(value) AS high
FROM signals
WHERE time_ns > {from_ns:Int64} AND time_ns <= {to_ns:Int64} AND kind IN ('gauge', 'sum') AND isFinite(value)
    AND match(metric, '(?i)(transfer|xfer|nixl|mooncake|inflight|waiting|queue)')
    AND NOT match(metric, '(?i)(fail|error|expir|abort|timeout|retr|reject)')
    AND (empty({models:Array(String)}) OR model = '' OR has({models:Array(String)}, CAST(model, 'String')))
GROUP BY metric
HAVING points >= 4 AND (silent OR countIf(kind = 'gauge') = points AND high > 0
    AND match(metric, '(kv_transfer_latency_ms|kv_transfer_latency_seconds|xfer_time_seconds|kv_transfer_speed_gb_s)$'))
