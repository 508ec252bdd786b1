-- Traces whose legs stand alone: no request span came within the grace time. before: Unix nanoseconds of their last span; since: Unix seconds.
INSERT INTO {scratch:Identifier}.batch_traces (trace_id, start_ns, end_ns, minutes)
SELECT
    trace_id, min(span_facts.start_ns), max(span_facts.end_ns),
    groupUniqArray(toStartOfMinute(toDateTime(intDiv(span_facts.start_ns, 1000000000), 'UTC')))
FROM span_facts
WHERE toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) >= toDateTime({since:UInt32}, 'UTC')
GROUP BY trace_id
HAVING max(root) = 2 AND max(end_ns) < {before:Int64}
    AND trace_id NOT IN (SELECT trace_id FROM requests WHERE has(notes, 'no_request_span'))
