-- KV bytes that requests of a window sent to another worker, one row per request with hand-offs. Shared memory is no network.
-- sized: hand-offs that moved and say how much; unsized: those that moved and do not say, or failed on the way.
-- from_ns, to_ns: when the requests started; their hand-offs bear their first_bucket.
CREATE VIEW network_bytes AS
SELECT
    request_key,
    sumIf(ifNull(moves.bytes, 0), whole AND isNotNull(moves.bytes)) AS bytes,
    countIf(whole AND isNotNull(moves.bytes)) AS sized,
    countIf(tried) - sized AS unsized,
    countIf(tried) = 0 AS none
FROM
(
    SELECT
        request_key, bytes,
        (moved_ns > 0 OR imported_ns > 0) AND transport != 'shm' AND status != 'skipped' AS tried,
        tried AND status NOT IN ('failed', 'expired', 'partial') AS whole
    FROM transfers FINAL
    WHERE tombstone = 0
        AND first_bucket >= (SELECT min(first_bucket) FROM requests
            WHERE started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC'))
        AND first_bucket <= (SELECT max(first_bucket) FROM requests
            WHERE started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC'))
) AS moves
GROUP BY request_key
SETTINGS do_not_merge_across_partitions_select_final = 1
