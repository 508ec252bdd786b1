-- Request ids of the traces that need no decision, as those of the tenant that a trace is first seen to be of.
INSERT INTO identity (bucket, kind, alias, request_key, first_bucket, trace_id, rule, tenant, version)
SELECT
    toStartOfTenMinutes(toDateTime(intDiv(start_ns, 1000000000), 'UTC')),
    1,
    reinterpretAsFixedString(sipHash128(arrayJoin(ids))) AS name,
    if(known, known_key, batch_traces.trace_id),
    if(known, known_first_bucket, toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC'))),
    batch_traces.trace_id,
    'request_id',
    if(known, known_tenant, tenants[1]) AS whose,
    {upto:UInt64}
FROM {scratch:Identifier}.batch_traces
WHERE trace_id NOT IN (SELECT toFixedString(unhex(arrayJoin({undecided:Array(String)})), 16))
    AND (name, whose) NOT IN (
        SELECT alias, tenant FROM identity
        WHERE kind = 1 AND bucket IN (SELECT toStartOfTenMinutes(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) FROM {scratch:Identifier}.batch_traces))
