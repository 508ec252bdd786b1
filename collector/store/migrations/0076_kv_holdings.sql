-- What became of the KV of each hand-off that began in [from_ns, to_ns), one row per side that held it, as of horizon_ns (Unix nanoseconds).
-- Orphans as the telemetry convention defines them: published, never read, and expired, aborted or held past max(lease, p99 request time);
-- or room on decode that was given back or waited past that limit without being filled. late_read: read after the lease had ended.
-- state: imported, released (given back unread with its request), expired, aborted, held, never_filled, open (not old enough to say).
CREATE VIEW kv_holdings AS
WITH
    (SELECT ifNull(quantile(0.99)(e2e_ns), 0) FROM requests
        WHERE started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')) AS p99_ns,
    (SELECT if(count() = 0, 0, quantile(0.5)(lease_ns - published_ns)) FROM transfers
        WHERE at_ns >= {from_ns:Int64} AND at_ns < {to_ns:Int64} AND published_ns > 0 AND lease_ns > published_ns) AS lease_p50_ns
SELECT
    lower(hex(request_key)) AS key, transfer_id, side, worker, producer, consumer, connector, transport, status,
    fromUnixTimestamp64Nano(since_ns, 'UTC') AS since,
    multiIf(
        read, 'imported',
        side = 'decode', if(freed_ns > 0 OR {horizon_ns:Int64} - since_ns > limit_ns, 'never_filled', 'open'),
        freed_why = 'expired', 'expired',
        freed_why = 'aborted', 'aborted',
        freed_ns > 0, 'released',
        {horizon_ns:Int64} - since_ns > limit_ns, 'held',
        'open') AS state,
    state IN ('expired', 'aborted', 'held', 'never_filled') AS orphan,
    side = 'prefill' AND read AND done_ns > 0 AND (expired_ns > 0 AND done_ns > expired_ns
        OR lease_ns > 0 AND done_ns > lease_ns AND freed_why NOT IN ('', 'imported')) AS late_read,
    freed_ns = 0 AND NOT read AS still_held,
    greatest(0, multiIf(freed_ns > 0, freed_ns, read AND done_ns > 0, done_ns, {horizon_ns:Int64}) - since_ns) / 1e9 AS held_seconds,
    if(lease_ns > published_ns AND published_ns > 0, (lease_ns - published_ns) / 1e9, NULL) AS lease_seconds,
    if(side = 'decode', ifNull(reserved_bytes, bytes), bytes) AS held_bytes,
    if(side = 'decode', ifNull(reserved_tokens, tokens), tokens) AS held_tokens,
    held_bytes * held_seconds AS byte_seconds
FROM
(
    SELECT
        *,
        arrayJoin(arrayFilter(s -> if(s = 'prefill', published_ns > 0 AND producer != '', reserved_ns > 0 AND consumer != ''), ['prefill', 'decode'])) AS side,
        toString(if(side = 'prefill', producer, consumer)) AS worker,
        if(side = 'prefill', published_ns, reserved_ns) AS since_ns,
        arrayFirst(r -> if(side = 'prefill', r.role = 1, r.role IN (2, 4)), releases) AS freed,
        freed.ns AS freed_ns,
        toString(freed.reason) AS freed_why,
        arrayFirst(r -> r.role = 1 AND r.reason = 'expired', releases).ns AS expired_ns,
        greatest(imported_ns, moved_ns) AS done_ns,
        status NOT IN ('failed', 'expired', 'partial') AND (done_ns > 0 OR arrayExists(r -> r.role = 1 AND r.reason = 'imported', releases)) AS read,
        greatest(p99_ns, lease_p50_ns) AS limit_ns
    FROM transfers FINAL
    WHERE tombstone = 0 AND at_ns >= {from_ns:Int64} AND at_ns < {to_ns:Int64}
)
SETTINGS do_not_merge_across_partitions_select_final = 1
