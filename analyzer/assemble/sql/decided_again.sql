-- Puts the traces that identity decided on in some steps beside those that the steps' spans touch. after, upto: ingest sequences.
INSERT INTO {scratch:Identifier}.batch_traces (trace_id, start_ns, end_ns, minutes)
SELECT trace_id, any(start_ns), any(end_ns), groupUniqArrayArray(minutes)
FROM decided_traces
WHERE ingest_sequence > {after:UInt64} AND ingest_sequence <= {upto:UInt64}
    AND trace_id NOT IN (SELECT trace_id FROM {scratch:Identifier}.batch_traces)
GROUP BY trace_id
