-- KV hand-offs that were read after their lease had ended.
SELECT countIf(late_read) AS late_reads
FROM kv_holdings(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, horizon_ns = toUnixTimestamp($__toTime) * 1000000000)
