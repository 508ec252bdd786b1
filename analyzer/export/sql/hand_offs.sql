-- The KV hand-offs of the last minutes by side: their states, and what orphans hold now.
SELECT
    side,
    count() AS held,
    countIf(k.orphan AND still_held) AS orphans,
    sumIf(ifNull(held_bytes, 0), k.orphan AND still_held) AS orphaned_bytes,
    countIf(since >= fromUnixTimestamp64Nano({recent_ns:Int64}, 'UTC')) AS begun,
    countIf(since >= fromUnixTimestamp64Nano({recent_ns:Int64}, 'UTC') AND status = 'failed') AS failed,
    countIf(since >= fromUnixTimestamp64Nano({recent_ns:Int64}, 'UTC') AND state = 'expired') AS expired,
    countIf(since >= fromUnixTimestamp64Nano({recent_ns:Int64}, 'UTC') AND late_read) AS late_reads
FROM kv_holdings(from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, horizon_ns = {to_ns:Int64}) AS k
GROUP BY side
