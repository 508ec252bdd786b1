-- KV that was read after its lease had ended: its blocks may have held another request's data. As late_reads of GET /kv/orphans.
SELECT key, transfer_id, producer, consumer, since, held_seconds, lease_seconds
FROM kv_holdings(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, horizon_ns = toUnixTimestamp($__toTime) * 1000000000)
WHERE late_read
    AND $__conditionalAll(worker IN (${worker:singlequote}), $worker)
    AND $__conditionalAll(side IN (${pool:singlequote}), $pool)
ORDER BY since DESC
LIMIT 100
