-- Notes the traces of the step that identity decided on. traces: hexadecimal.
INSERT INTO decided_traces (ingest_sequence, trace_id, request_key, start_ns, end_ns, minutes)
SELECT
    {upto:UInt64}, trace_id, toFixedString(unhex({keys:Array(String)}[indexOf({traces:Array(String)}, lower(hex(trace_id)))]), 16),
    start_ns, end_ns, arrayDistinct(arrayConcat(minutes, known_minutes))
FROM {scratch:Identifier}.batch_traces
WHERE has({traces:Array(String)}, lower(hex(trace_id)))
