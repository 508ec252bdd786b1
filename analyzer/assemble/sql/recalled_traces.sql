-- The traces on record of some requests, as far as they are not among the step's; an end_ns of 0 tells them from those.
-- keys: request keys in hexadecimal; buckets: the ten minutes around the requests' first ones.
INSERT INTO {scratch:Identifier}.batch_traces
WITH further AS
(
    SELECT trace_id, minutes FROM identity
    WHERE kind = 2 AND bucket IN {buckets:Array(DateTime('UTC'))}
        AND alias IN (SELECT toFixedString(unhex(arrayJoin({keys:Array(String)})), 16))
)
SELECT
    alias, arrayFilter(r -> r != toFixedString('', 8), [argMax(root_span_id, version)]), [],
    toInt64(toUnixTimestamp(argMax(first_bucket, version))) * 1000000000, 0, argMax(identity.minutes, version),
    1, argMax(identity.bucket, version), argMax(request_key, version), argMax(first_bucket, version), argMax(root_span_id, version),
    argMax(identity.minutes, version), argMax(identity.rule, version),
    arrayFilter(t -> t != '', [argMax(identity.tenant, version)]), argMax(identity.tenant, version)
FROM identity
WHERE kind = 0
    AND (alias IN (SELECT toFixedString(unhex(arrayJoin({keys:Array(String)})), 16)) OR alias IN (SELECT trace_id FROM further))
    AND (bucket IN {buckets:Array(DateTime('UTC'))} OR bucket IN (SELECT arrayJoin(minutes) FROM further))
    AND alias NOT IN (SELECT trace_id FROM {scratch:Identifier}.batch_traces)
GROUP BY alias
