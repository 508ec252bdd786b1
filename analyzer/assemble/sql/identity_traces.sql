-- Names of the traces that need no decision: a trace is its own request, until something says otherwise.
INSERT INTO identity (bucket, kind, alias, request_key, first_bucket, root_span_id, trace_id, minutes, rule, tenant, version)
SELECT
    if(known, known_bucket, toStartOfTenMinutes(toDateTime(intDiv(start_ns, 1000000000), 'UTC'))),
    0,
    trace_id,
    if(known, known_key, trace_id),
    if(known, known_first_bucket, toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC'))),
    if(known AND known_root != toFixedString('', 8), known_root, if(empty(roots), toFixedString('', 8), roots[1])),
    trace_id,
    arrayDistinct(arrayConcat(known_minutes, minutes)),
    if(known, known_rule, 'trace_id'),
    tenants[1],
    {upto:UInt64}
FROM {scratch:Identifier}.batch_traces
WHERE trace_id NOT IN (SELECT toFixedString(unhex(arrayJoin({undecided:Array(String)})), 16))
    AND (NOT known OR (known_tenant = '' AND notEmpty(tenants)) OR NOT hasAll(known_minutes, minutes) OR (notEmpty(roots) AND known_root = toFixedString('', 8)))
