-- Traces whose legs stand alone and are shown so now: no request span came within the grace time, or no read within the lease
-- of what they published. rootless_before, unread_before: Unix nanoseconds of the last span's and the lease's end; since: Unix seconds.
INSERT INTO {scratch:Identifier}.batch_traces (trace_id, start_ns, end_ns, minutes)
SELECT trace_id, first_ns, last_ns, minutes
FROM
(
    SELECT
        trace_id, min(span_facts.start_ns) AS first_ns, max(span_facts.end_ns) AS last_ns,
        groupUniqArray(toStartOfMinute(toDateTime(intDiv(span_facts.start_ns, 1000000000), 'UTC'))) AS minutes,
        max(arrayMax(arrayMap(e -> if(e.1 = 'publish', greatest(ifNotFinite(e.6[7], 0), ifNotFinite(e.4 + e.6[8] * 1e9, 0)), 0), kv))) AS lease_end,
        max(arrayExists(e -> e.1 IN ('transfer', 'import'), kv)) AS moved
    FROM span_facts
    WHERE toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) >= toDateTime({since:UInt32}, 'UTC')
    GROUP BY trace_id
    -- one that has its request span is shown, but a trace of several requests may hold another's legs
    HAVING max(root) = 2 AND (NOT max(root = 1) OR trace_id IN
        (SELECT alias FROM identity WHERE kind = 0 AND rule = 'shared_trace' AND bucket >= toDateTime({since:UInt32}, 'UTC') - 600))
)
WHERE (last_ns < {rootless_before:Int64} OR (lease_end > 0 AND lease_end < {unread_before:Int64} AND NOT moved))
    AND trace_id NOT IN (SELECT trace_id FROM requests WHERE has(notes, 'no_request_span'))
