-- Notes the traces of the step that identity decided on, with each request that has spans in them. traces, keys: pairs, hexadecimal.
INSERT INTO decided_traces (ingest_sequence, trace_id, request_key, start_ns, end_ns, minutes)
SELECT
    {upto:UInt64}, trace_id, toFixedString(unhex(arrayJoin(arrayFilter((k, t) -> t = lower(hex(trace_id)), {keys:Array(String)}, {traces:Array(String)}))), 16),
    start_ns, end_ns, arrayDistinct(arrayConcat(minutes, known_minutes))
FROM {scratch:Identifier}.batch_traces
WHERE has({traces:Array(String)}, lower(hex(trace_id)))
