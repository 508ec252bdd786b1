-- Rebuilds the KV hand-offs of one step's requests. Ranks of one transfer are folded: bytes and descriptors add up, times span all.
INSERT INTO transfers
(
    request_key, first_bucket, transfer_id, version, producer, consumer, at_ns, published_ns, lease_ns, asked_ns, moved_ns,
    import_start_ns, imported_ns, reserved_ns, reserved_until_ns, releases, duplicate_releases, status, connector, transport,
    bytes, tokens, descriptors, already_held_tokens, post_ns, wait_ns, link_gb_s, reserved_bytes, reserved_tokens, attempt
)
SELECT
    request_key, first_bucket, transfer_id, version, producer, consumer,
    multiIf(published_ns > 0, published_ns, asked_ns > 0, asked_ns, reserved_ns > 0, reserved_ns, import_start_ns > 0, import_start_ns, first_release) AS at_ns,
    published_ns, lease_ns, asked_ns, moved_ns, import_start_ns, imported_ns, reserved_ns, reserved_until_ns,
    releases, all_releases - length(releases), status, connector, transport,
    bytes, tokens, descriptors, already_held_tokens, post_ns, wait_ns, link_gb_s, reserved_bytes, reserved_tokens, attempt
FROM
(
    SELECT
        request_key, min(first_bucket) AS first_bucket, id AS transfer_id, {upto:UInt64} AS version,
        argMaxIf(worker, start_ns, event = 'publish') AS published_by,
        anyIf(source_, event IN ('transfer', 'import') AND source_ != '') AS source,
        anyIf(destination_, event IN ('transfer', 'import') AND destination_ != '') AS destination,
        if(published_by != '', published_by, source) AS producer,
        argMaxIf(worker, start_ns, event IN ('import', 'reserve')) AS taken_by,
        argMaxIf(worker, start_ns, event = 'transfer' AND role = 2) AS pulled_by,
        multiIf(taken_by != '', taken_by, pulled_by != '', pulled_by, destination) AS consumer,
        ifNull(minOrNullIf(end_ns, event = 'publish'), 0) AS published_ns,
        ifNull(maxOrNullIf(greatest(if(isNaN(lease_ns_), 0, toInt64(lease_ns_)), if(NOT isNaN(lease_s_), end_ns + toInt64(lease_s_ * 1e9), 0)), event = 'publish'), 0) AS lease_ns,
        ifNull(minOrNullIf(start_ns, event = 'transfer'), 0) AS asked_ns,
        ifNull(maxOrNullIf(end_ns, event = 'transfer'), 0) AS moved_ns,
        ifNull(minOrNullIf(start_ns, event = 'import'), 0) AS import_start_ns,
        ifNull(maxOrNullIf(end_ns, event = 'import'), 0) AS imported_ns,
        ifNull(minOrNullIf(start_ns, event = 'reserve'), 0) AS reserved_ns,
        ifNull(maxOrNullIf(end_ns, event = 'reserve'), 0) AS reserved_until_ns,
        arraySort(groupArrayIf((end_ns, reason_, worker, role), event = 'release')) AS all_of_them,
        length(all_of_them) AS all_releases,
        arrayFilter((r, n) -> n = 1, all_of_them, arrayEnumerateUniq(arrayMap(r -> r.3, all_of_them))) AS releases,
        ifNull(minOrNullIf(end_ns, event = 'release'), 0) AS first_release,
        multiIf(
            countIf(event IN ('transfer', 'import') AND status_ IN ('failed', 'expired', 'partial')) > 0,
            anyIf(status_, event IN ('transfer', 'import') AND status_ IN ('failed', 'expired', 'partial')),
            countIf(status_ = 'ok' AND event IN ('transfer', 'import')) > 0, 'ok',
            anyIf(status_, event IN ('transfer', 'import'))) AS status,
        anyIf(connector_, connector_ != '') AS connector,
        anyIf(transport_, transport_ != '') AS transport,
        coalesce(sumOrNullIf(bytes_, event = 'transfer' AND NOT isNaN(bytes_)), maxOrNullIf(bytes_, event IN ('publish', 'import') AND NOT isNaN(bytes_))) AS bytes,
        maxOrNullIf(tokens_, event IN ('publish', 'transfer', 'import') AND NOT isNaN(tokens_)) AS tokens,
        sumOrNullIf(descriptors_, event = 'transfer' AND NOT isNaN(descriptors_)) AS descriptors,
        maxOrNullIf(already_held_tokens_, NOT isNaN(already_held_tokens_)) AS already_held_tokens,
        maxOrNullIf(post_ns_, NOT isNaN(post_ns_)) AS post_ns,
        maxOrNullIf(wait_ns_, NOT isNaN(wait_ns_)) AS wait_ns,
        maxOrNullIf(link_gb_s_, NOT isNaN(link_gb_s_)) AS link_gb_s,
        maxOrNullIf(bytes_, event = 'reserve' AND NOT isNaN(bytes_)) AS reserved_bytes,
        maxOrNullIf(tokens_, event = 'reserve' AND NOT isNaN(tokens_)) AS reserved_tokens,
        max(attempt) AS attempt
    FROM
    (
        SELECT
            request_key, first_bucket, worker,
            multiIf(pool != 0, pool, plays != 0, plays, guess) AS role,
            greatest(attempt, 1) AS attempt,
            e.1 AS event, e.2 AS id, e.3 AS start_ns, e.4 AS end_ns,
            e.5[1] AS status_, e.5[2] AS reason_, e.5[3] AS connector_, e.5[4] AS transport_, e.5[5] AS source_, e.5[6] AS destination_,
            e.6[1] AS bytes_, e.6[2] AS tokens_, e.6[3] AS descriptors_, e.6[4] AS already_held_tokens_, e.6[5] AS post_ns_,
            e.6[6] AS wait_ns_, e.6[7] AS lease_ns_, e.6[8] AS lease_s_, e.6[9] AS link_gb_s_
        FROM (SELECT request_key, first_bucket, worker, pool, plays, guess, attempt, kv FROM {scratch:Identifier}.batch_spans WHERE notEmpty(kv) LIMIT 1 BY trace_id, span_id, resource_id)
        ARRAY JOIN kv AS e
    )
    GROUP BY request_key, id
)
