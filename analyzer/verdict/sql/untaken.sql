-- Whether a stored span that is not in its request yet may be of the window: it began there, or belongs to a request that did.
WITH untaken AS
(
    SELECT trace_id, min(start_ns) AS began
    FROM spans
    WHERE ingest_sequence > {taken:UInt64} AND start_ns >= {from_ns:Int64} - 60000000000
    GROUP BY trace_id
)
SELECT
    (SELECT count() FROM untaken WHERE began < {to_ns:Int64}) > 0
    OR (SELECT count() FROM requests
        WHERE first_bucket >= toDateTime(greatest(intDiv({from_ns:Int64}, 1000000000) - 3600, 0), 'UTC')
            AND first_bucket <= toDateTime(intDiv({to_ns:Int64}, 1000000000), 'UTC')
            AND toUnixTimestamp64Nano(started_at) >= {from_ns:Int64} AND toUnixTimestamp64Nano(started_at) < {to_ns:Int64}
            AND trace_id IN (SELECT trace_id FROM untaken)) > 0 AS found
