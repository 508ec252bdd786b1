-- Whether a stored span that is not in its request yet may be of the window: it began there, or belongs to a request that did. A leg that
-- has a trace of its own may begin after the window; where requests are of several traces, one that nobody knows yet counts for a minute.
WITH
    untaken AS
    (
        SELECT trace_id, min(start_ns) AS began
        FROM spans
        WHERE ingest_sequence > {taken:UInt64} AND start_ns >= {from_ns:Int64} - 60000000000
        GROUP BY trace_id
    ),
    known AS
    (
        SELECT alias, request_key
        FROM identity
        WHERE kind = 0 AND alias IN (SELECT trace_id FROM untaken)
            AND bucket >= toDateTime(greatest(intDiv({from_ns:Int64}, 1000000000) - 3600, 0), 'UTC')
            AND bucket <= toDateTime(intDiv({to_ns:Int64}, 1000000000) + 3600, 'UTC')
    ),
    inside AS
    (
        SELECT
            countIf(trace_id IN (SELECT trace_id FROM untaken) OR request_key IN (SELECT request_key FROM known)) AS touched,
            countIf(has(joined_by, 'request_id')) AS of_several
        FROM requests
        WHERE first_bucket >= toDateTime(greatest(intDiv({from_ns:Int64}, 1000000000) - 3600, 0), 'UTC')
            AND first_bucket <= toDateTime(intDiv({to_ns:Int64}, 1000000000) + 3600, 'UTC')
            AND toUnixTimestamp64Nano(started_at) >= {from_ns:Int64} AND toUnixTimestamp64Nano(started_at) < {to_ns:Int64}
    )
SELECT
    (SELECT count() FROM untaken WHERE began < {to_ns:Int64}) > 0
    OR (SELECT touched FROM inside) > 0
    OR ((SELECT of_several FROM inside) > 0
        AND (SELECT count() FROM untaken WHERE began < {to_ns:Int64} + 60000000000 AND trace_id NOT IN (SELECT alias FROM known)) > 0) AS found
