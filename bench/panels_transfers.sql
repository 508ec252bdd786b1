-- A KV hand-off for each request of rest_fill.sql: published, moved and imported; one in fifty is never read and expires.
INSERT INTO transfers (request_key, first_bucket, transfer_id, version, producer, consumer, at_ns, published_ns, lease_ns, asked_ns, moved_ns,
    import_start_ns, imported_ns, releases, status, connector, transport, bytes, tokens, descriptors, post_ns, link_gb_s, attempt)
SELECT
    request_key, first_bucket, concat('t-', request_id), version, prefill_worker, decode_worker, start, start, start + 30000000000,
    if(lost, 0, start + 5000000), if(lost, 0, start + 45000000), if(lost, 0, start + 45000000), if(lost, 0, start + 50000000),
    [(if(lost, start + 30000000000, start + 51000000), if(lost, 'expired', 'imported'), prefill_worker, 1)],
    if(lost, 'expired', 'ok'), 'nixl', 'rdma', input_tokens * 131072, input_tokens, intDiv(input_tokens, 16), 4000000, 50, 1
FROM (SELECT *, toUnixTimestamp64Nano(started_at) + 200000000 AS start, modulo(version, 50) = 0 AS lost FROM requests)
