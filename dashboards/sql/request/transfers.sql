-- The KV hand-offs of one request.
SELECT transfer_id, toString(producer) AS producer, toString(consumer) AS consumer, toString(status) AS status, toString(transport) AS transport,
    bytes, transfer_seconds, gb_per_second * 1e9 AS rate, post_share, lease_until, imported_at, arrayStringConcat(release_reasons, ', ') AS released
FROM kv_transfers
WHERE key IN (SELECT key FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote}))
ORDER BY at
LIMIT 100
