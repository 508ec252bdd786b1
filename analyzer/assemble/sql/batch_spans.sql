-- Every span of the requests of one step, with the process that sent it. Copies of a span stay, to be counted; what they say
-- counts for the newest alone, which may correct the others.
INSERT INTO {scratch:Identifier}.batch_spans
WITH
    (SELECT groupArray((slice, worker, offset_ns)) FROM clock_offsets FINAL WHERE offset_ns != 0) AS offsets,
    of_the_requests AS (
        SELECT * FROM span_facts
        WHERE toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) IN (SELECT arrayJoin(minutes) FROM {scratch:Identifier}.batch_requests)
            AND trace_id IN (SELECT trace_id FROM {scratch:Identifier}.batch_requests)),
    -- few spans have copies: those that may are found by a hash first
    outdated_copies AS (
        SELECT trace_id, span_id, resource_id, arrayJoin(arraySlice(arrayReverseSort(groupUniqArray((ingest_sequence, start_ns, end_ns))), 2))
        FROM of_the_requests
        WHERE cityHash64(trace_id, span_id, resource_id) IN (SELECT cityHash64(trace_id, span_id, resource_id) AS id FROM of_the_requests GROUP BY id HAVING count() > 1)
        GROUP BY trace_id, span_id, resource_id)
SELECT
    if(b.rule = 'shared_trace', o.request_key, b.request_key) AS request_key,
    b.first_bucket, b.rule,
    f.trace_id, f.span_id, f.parent_id, f.resource_id,
    p.worker, p.cohort, p.pool, p.guess,
    f.dialect, f.root, f.calls, f.plays, f.attempt, f.attempt_id, f.start_ns - shift, f.end_ns - shift,
    if((f.trace_id, f.span_id, f.resource_id, (f.ingest_sequence, f.start_ns, f.end_ns)) IN (outdated_copies) AS outdated, [], if(shift = 0, f.intervals, arrayMap(i -> (i.1, i.2, i.3 - shift, i.4 - shift, i.5, i.6, i.7, i.8), f.intervals))),
    if(outdated, [], if(shift = 0, f.marks, arrayMap(k -> (k.1, k.2, k.3 - shift, k.4), f.marks))),
    if(outdated, [], arrayConcat(if(p.tenant != '', [('tenant', 0, p.tenant, 0)], []), f.facts)),
    -- the lease's end is an instant of the same clock
    if(outdated, [], if(shift = 0, f.kv, arrayMap(k -> (k.1, k.2, k.3 - shift, k.4 - shift, k.5, arrayMap((v, n) -> if(n = 7, v - shift, v), k.6, arrayEnumerate(k.6))), f.kv))),
    if(outdated, 0, f.impossible),
    f.ingest_sequence, f.ingested_at,
    if(empty(offsets), 0, arrayFirst(o -> o.1 = toStartOfFiveMinutes(b.first_bucket) AND o.2 = p.worker, offsets).3) AS shift
FROM of_the_requests AS f
LEFT ANY JOIN {scratch:Identifier}.batch_requests AS b ON f.trace_id = b.trace_id
LEFT ANY JOIN
(
    SELECT trace_id, span_id, resource_id, argMax(request_key, version) AS request_key
    FROM span_owners
    WHERE trace_id IN (SELECT trace_id FROM {scratch:Identifier}.batch_requests WHERE rule = 'shared_trace')
    GROUP BY trace_id, span_id, resource_id
) AS o ON f.trace_id = o.trace_id AND f.span_id = o.span_id AND f.resource_id = o.resource_id
LEFT ANY JOIN
(
    SELECT
        resource_id,
        any(if(instance != '', instance, toString(service))) AS worker,
        any(attrs['pd.cohort']) AS cohort,
        -- whose the process is outranks what its spans say: with tenants' tokens it is the token's
        any(attrs['pd.tenant']) AS tenant,
        any(toUInt8(transform(toString(pool), ['prefill', 'decode', 'router', 'colocated'],
            [1, 2, 3, 4],
            arrayFirst(p -> p.3 = 1 AND (match(toString(service), p.1) OR match(instance, p.1)), (SELECT groupArray((pattern, role, configured)) FROM {scratch:Identifier}.process_roles)).2))) AS pool,
        any(arrayFirst(p -> p.3 = 0 AND (match(toString(service), p.1) OR match(instance, p.1)), (SELECT groupArray((pattern, role, configured)) FROM {scratch:Identifier}.process_roles)).2) AS guess
    FROM resources
    GROUP BY resource_id
) AS p ON f.resource_id = p.resource_id
WHERE request_key != toFixedString('', 16)
    AND (empty({shares:Array(UInt8)}) OR has({shares:Array(UInt8)}, toUInt8(cityHash64(request_key) % {of:UInt8})))
