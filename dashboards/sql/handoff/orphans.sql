-- Orphaned KV, dearest first: bytes × seconds it kept from other requests. As GET /kv/orphans.
SELECT key, transfer_id, side, worker, state, since, held_seconds, lease_seconds, held_bytes, byte_seconds
FROM kv_holdings(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, horizon_ns = toUnixTimestamp($__toTime) * 1000000000)
WHERE orphan
    AND $__conditionalAll(worker IN (${worker:singlequote}), $worker)
    AND $__conditionalAll(side IN (${pool:singlequote}), $pool)
ORDER BY byte_seconds DESC NULLS LAST, held_seconds DESC
LIMIT 100
