-- Whether legs of the window are read whose request is not shown yet: its request span may still come, or the grace time ends and they
-- stand alone. waits_since: Unix nanoseconds; what ended before has been judged.
WITH
    legs AS
    (
        SELECT DISTINCT trace_id
        FROM span_facts
        WHERE toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) >= toStartOfMinute(toDateTime(intDiv({from_ns:Int64}, 1000000000), 'UTC'))
            AND start_ns >= {from_ns:Int64} AND start_ns < {to_ns:Int64} AND root = 2 AND end_ns >= {waits_since:Int64}
    ),
    -- of traces without a request span of their own: whose legs they are so far
    without AS
    (
        SELECT argMax(request_key, version) AS owner
        FROM identity
        WHERE kind = 0 AND bucket >= toDateTime(greatest(intDiv({waits_since:Int64}, 1000000000) - 7200, 0), 'UTC') AND alias IN (SELECT trace_id FROM legs)
        GROUP BY alias
        HAVING argMax(root_span_id, version) = toFixedString('', 8)
    )
SELECT count() > 0 AS found
FROM without
WHERE owner NOT IN (SELECT request_key FROM requests
    WHERE first_bucket >= toDateTime(greatest(intDiv({waits_since:Int64}, 1000000000) - 7200, 0), 'UTC')
        AND request_key IN (SELECT owner FROM without))
