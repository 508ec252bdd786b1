-- Names shared between traces that are not known to be one request: what identity has to decide. Rows: name, traces of the
-- step that carry it, and the request it is already known for (all zero when new).
SELECT id, groupUniqArray(trace_id) AS traces, any(known_key) AS known_key, any(known_first_bucket) AS known_first_bucket
FROM
(
    SELECT
        e.id AS id, e.trace_id AS trace_id, e.key AS key,
        k.request_key AS known_key, k.first_bucket AS known_first_bucket
    FROM
    (
        SELECT arrayJoin(ids) AS id, reinterpretAsFixedString(sipHash128(id)) AS alias, trace_id, if(known, known_key, trace_id) AS key
        FROM {scratch:Identifier}.batch_traces
    ) AS e
    LEFT JOIN
    (
        SELECT alias, argMin(request_key, version) AS request_key, argMin(first_bucket, version) AS first_bucket
        FROM identity
        WHERE kind = 1
            AND alias IN (SELECT reinterpretAsFixedString(sipHash128(arrayJoin(ids))) FROM {scratch:Identifier}.batch_traces)
            AND (bucket IN (SELECT arrayJoin([-600, 0, 600]) + toStartOfTenMinutes(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) FROM {scratch:Identifier}.batch_traces)
                OR ingested_at >= now('UTC') - 3600)
        GROUP BY alias
    ) AS k ON e.alias = k.alias
)
GROUP BY id
HAVING uniqExact(key) > 1 OR (known_key != toFixedString('', 16) AND known_key != any(key))
