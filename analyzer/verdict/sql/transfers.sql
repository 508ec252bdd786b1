-- KV hand-offs that began in the widened window, one row each. Instants are Unix nanoseconds, 0 when not seen; nan: not reported.
SELECT
    reinterpretAsUInt64(substring(CAST(request_key, 'String'), 1, 8)) AS key_a,
    reinterpretAsUInt64(substring(CAST(request_key, 'String'), 9, 8)) AS key_b,
    cityHash64(transfer_id) AS transfer_id,
    if(CAST(producer, 'String') = '', 0, cityHash64(CAST(producer, 'String'))) AS producer,
    if(CAST(consumer, 'String') = '', 0, cityHash64(CAST(consumer, 'String'))) AS consumer,
    at_ns, published_ns, lease_ns, asked_ns, moved_ns, import_start_ns, imported_ns, reserved_ns, reserved_until_ns,
    arrayFirst(r -> r.4 = 1, releases).1 AS freed_ns,
    toUInt8(transform(toString(arrayFirst(r -> r.4 = 1, releases).2), ['imported', 'cancelled', 'expired', 'aborted', 'worker_lost'], [1, 2, 3, 4, 5], 0)) AS freed_why,
    arrayFirst(r -> r.4 = 1 AND r.2 = 'expired', releases).1 AS expired_ns,
    arrayFirst(r -> r.4 IN (2, 4), releases).1 AS given_back_ns,
    toUInt8(transform(toString(arrayFirst(r -> r.4 IN (2, 4), releases).2), ['imported', 'cancelled', 'expired', 'aborted', 'worker_lost'], [1, 2, 3, 4, 5], 0)) AS given_back_why,
    toUInt8(arrayUniq(arrayMap(r -> r.3, arrayFilter(r -> r.4 = 1, releases)))) AS producers_freed,
    toUInt32(duplicate_releases) AS duplicate_releases,
    toUInt8(transform(CAST(status, 'String'), ['', 'ok', 'failed', 'expired', 'partial', 'skipped'], [0, 1, 2, 3, 4, 5], 0)) AS status,
    toUInt8(transform(lower(CAST(transport, 'String')), ['', 'rdma', 'tcp', 'nvlink', 'shm'], [0, 1, 2, 3, 4], 5)) AS transport,
    cityHash64(CAST(connector, 'String')) AS connector,
    ifNull(bytes, nan) AS bytes,
    ifNull(tokens, nan) AS tokens,
    ifNull(descriptors, nan) AS descriptors,
    ifNull(already_held_tokens, nan) AS already_held_tokens,
    ifNull(post_ns / 1e9, nan) AS post,
    ifNull(wait_ns / 1e9, nan) AS waited,
    ifNull(link_gb_s, nan) AS link_gb_s,
    ifNull(reserved_bytes, nan) AS reserved_bytes,
    ifNull(reserved_tokens, nan) AS reserved_tokens,
    attempt
FROM transfers FINAL
WHERE tombstone = 0 AND at_ns >= {from_ns:Int64} AND at_ns < {to_ns:Int64}
SETTINGS do_not_merge_across_partitions_select_final = 1
