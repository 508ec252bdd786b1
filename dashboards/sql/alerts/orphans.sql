-- Orphaned hand-offs that are still held, by side.
SELECT side AS pool, countIf(k.orphan AND still_held) AS orphans
FROM kv_holdings(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, horizon_ns = toUnixTimestamp($__toTime) * 1000000000) AS k
GROUP BY pool
ORDER BY pool
