-- Every trace of the requests that the step touches. A request with further traces says in which buckets these are named.
INSERT INTO {scratch:Identifier}.batch_requests
WITH
    touched AS
    (
        SELECT alias AS trace_id, argMax(request_key, version) AS request_key, argMax(first_bucket, version) AS first_bucket
        FROM identity
        WHERE kind = 0 AND alias IN (SELECT trace_id FROM {scratch:Identifier}.batch_traces)
            AND (bucket IN (SELECT arrayJoin([-600, 0, 600]) + toStartOfTenMinutes(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) FROM {scratch:Identifier}.batch_traces)
                OR bucket IN (SELECT known_bucket FROM {scratch:Identifier}.batch_traces))
        GROUP BY alias
    ),
    further AS
    (
        SELECT trace_id, minutes
        FROM identity
        WHERE kind = 2 AND bucket IN (SELECT toStartOfTenMinutes(first_bucket) FROM touched)
            AND (alias IN (SELECT request_key FROM touched)
                OR alias IN (SELECT request_key FROM span_owners WHERE trace_id IN (SELECT trace_id FROM {scratch:Identifier}.batch_traces)))
    )
SELECT
    alias AS trace_id, argMax(request_key, version) AS request_key, argMax(first_bucket, version) AS first_bucket,
    argMax(identity.minutes, version) AS minutes, argMax(rule, version) AS rule
FROM identity
WHERE kind = 0
    AND (alias IN (SELECT trace_id FROM touched) OR alias IN (SELECT trace_id FROM further))
    AND (bucket IN (SELECT arrayJoin([-600, 0, 600]) + toStartOfTenMinutes(first_bucket) FROM touched)
        OR bucket IN (SELECT arrayJoin(further.minutes) FROM further))
GROUP BY alias
-- shares: of several analyzers, those of this one; empty: all. A trace of several requests may hold one of its own.
HAVING empty({shares:Array(UInt8)}) OR rule = 'shared_trace' OR has({shares:Array(UInt8)}, toUInt8(cityHash64(request_key) % {of:UInt8}))
