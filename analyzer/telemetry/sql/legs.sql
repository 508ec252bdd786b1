-- Traces that the rules read and that belong to no request, by system: of the quarter of an hour before the window's newest
-- span, without its last minute, in which the rest may still come.
WITH
    (SELECT ifNull(maxOrNull(end_ns), 0) FROM span_facts WHERE start_ns >= {from_ns:Int64} AND start_ns < {to_ns:Int64}) AS newest_ns,
    newest_ns - 60000000000 AS settled_ns,
    greatest({from_ns:Int64}, newest_ns - 900000000000) AS since_ns
SELECT system, count() AS traces, sum(spans_) AS spans, lower(hex(argMax(trace_id, last_ns))) AS example
FROM
(
    SELECT trace_id, toString(any(dialect)) AS system, count() AS spans_, max(end_ns) AS last_ns
    FROM span_facts
    WHERE start_ns >= since_ns AND start_ns < {to_ns:Int64}
    GROUP BY trace_id
    HAVING max(root) != 1 AND last_ns < settled_ns
) AS legs
WHERE trace_id NOT IN
    (
        SELECT alias FROM identity
        WHERE kind = 0
            AND request_key IN (SELECT request_key FROM requests FINAL WHERE tombstone = 0 AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64} - 900000000000, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC'))
    )
    AND trace_id NOT IN (SELECT trace_id FROM span_owners)
GROUP BY system
ORDER BY traces DESC, system
