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
        request_key, any(first_bucket) AS first_bucket, id AS transfer_id, {upto:UInt64} AS version,
        argMaxIf(worker, start_ns, event = 'publish') AS published_by,
        anyIf(text['source'], event IN ('transfer', 'import') AND mapContains(text, 'source')) AS source,
        anyIf(text['destination'], event IN ('transfer', 'import') AND mapContains(text, 'destination')) AS destination,
        if(published_by != '', published_by, source) AS producer,
        argMaxIf(worker, start_ns, event IN ('import', 'reserve')) AS taken_by,
        argMaxIf(worker, start_ns, event = 'transfer' AND role = 2) AS pulled_by,
        multiIf(taken_by != '', taken_by, pulled_by != '', pulled_by, destination) AS consumer,
        ifNull(minOrNullIf(end_ns, event = 'publish'), 0) AS published_ns,
        ifNull(maxOrNullIf(greatest(toInt64(numbers['lease_ns']), if(mapContains(numbers, 'lease_s'), end_ns + toInt64(numbers['lease_s'] * 1e9), 0)), event = 'publish'), 0) AS lease_ns,
        ifNull(minOrNullIf(start_ns, event = 'transfer'), 0) AS asked_ns,
        ifNull(maxOrNullIf(end_ns, event = 'transfer'), 0) AS moved_ns,
        ifNull(minOrNullIf(start_ns, event = 'import'), 0) AS import_start_ns,
        ifNull(maxOrNullIf(end_ns, event = 'import'), 0) AS imported_ns,
        ifNull(minOrNullIf(start_ns, event = 'reserve'), 0) AS reserved_ns,
        ifNull(maxOrNullIf(end_ns, event = 'reserve'), 0) AS reserved_until_ns,
        arraySort(groupArrayIf((end_ns, text['reason'], worker, role), event = 'release')) AS all_of_them,
        length(all_of_them) AS all_releases,
        arrayFilter((r, n) -> n = 1, all_of_them, arrayEnumerateUniq(arrayMap(r -> r.3, all_of_them))) AS releases,
        ifNull(minOrNullIf(end_ns, event = 'release'), 0) AS first_release,
        multiIf(
            countIf(event IN ('transfer', 'import') AND text['status'] IN ('failed', 'expired', 'partial')) > 0,
            anyIf(text['status'], event IN ('transfer', 'import') AND text['status'] IN ('failed', 'expired', 'partial')),
            countIf(text['status'] = 'ok' AND event IN ('transfer', 'import')) > 0, 'ok',
            anyIf(text['status'], event IN ('transfer', 'import'))) AS status,
        anyIf(text['connector'], mapContains(text, 'connector')) AS connector,
        anyIf(text['transport'], mapContains(text, 'transport')) AS transport,
        coalesce(sumOrNullIf(numbers['bytes'], event = 'transfer' AND mapContains(numbers, 'bytes')), maxOrNullIf(numbers['bytes'], event IN ('publish', 'import') AND mapContains(numbers, 'bytes'))) AS bytes,
        maxOrNullIf(numbers['tokens'], event IN ('publish', 'transfer', 'import') AND mapContains(numbers, 'tokens')) AS tokens,
        sumOrNullIf(numbers['descriptors'], event = 'transfer' AND mapContains(numbers, 'descriptors')) AS descriptors,
        maxOrNullIf(numbers['already_held_tokens'], mapContains(numbers, 'already_held_tokens')) AS already_held_tokens,
        maxOrNullIf(numbers['post_ns'], mapContains(numbers, 'post_ns')) AS post_ns,
        maxOrNullIf(numbers['wait_ns'], mapContains(numbers, 'wait_ns')) AS wait_ns,
        maxOrNullIf(numbers['link_gb_s'], mapContains(numbers, 'link_gb_s')) AS link_gb_s,
        maxOrNullIf(numbers['bytes'], event = 'reserve' AND mapContains(numbers, 'bytes')) AS reserved_bytes,
        maxOrNullIf(numbers['tokens'], event = 'reserve' AND mapContains(numbers, 'tokens')) AS reserved_tokens,
        max(attempt) AS attempt
    FROM
    (
        SELECT
            request_key, first_bucket, worker,
            multiIf(pool != 0, pool, plays != 0, plays, guess) AS role,
            greatest(attempt, 1) AS attempt,
            e.1 AS event, e.2 AS id, e.3 AS start_ns, e.4 AS end_ns, e.5 AS text, e.6 AS numbers
        FROM (SELECT *, arrayJoin(kv) AS e FROM batch_spans WHERE notEmpty(kv) LIMIT 1 BY trace_id, span_id, resource_id)
    )
    GROUP BY request_key, id
)
