-- Names shared between traces that are not known to be one request: what identity has to decide. Rows: name, traces of the
-- step that carry it, and the requests it is already known for, with whose they are: parallel arrays. Those of other tenants count
-- only where something that carries the name says of no tenant that it is its. Of a name that very many requests bear, the nearest
-- in time.
SELECT
    id, groupUniqArray(trace_id) AS traces, arrayDistinct(groupArrayArray(known)) AS all_known,
    arrayMap(k -> k.1, all_known) AS known_tenants, arrayMap(k -> k.2, all_known) AS known_keys, arrayMap(k -> k.3, all_known) AS known_first_buckets
FROM
(
    SELECT
        e.id AS id, e.trace_id AS trace_id, e.key AS key, e.tenant AS tenant,
        arraySlice(arraySort(r -> (abs(toInt64(toUnixTimestamp(r.3)) - intDiv(e.start_ns, 1000000000)), r.2),
            if(e.tenant = '' OR k.nobodys, k.known, arrayFilter(r -> r.1 = e.tenant, k.known))), 1, 32) AS known
    FROM
    (
        SELECT
            arrayJoin(ids) AS id, reinterpretAsFixedString(sipHash128(id)) AS alias, trace_id, start_ns, if(known, known_key, trace_id) AS key,
            if(length(tenants) = 1, tenants[1], '') AS tenant
        FROM {scratch:Identifier}.batch_traces
    ) AS e
    LEFT JOIN
    (
        SELECT alias, groupArray((toString(tenant), request_key, first_bucket)) AS known, max(tenant = '') AS nobodys
        FROM
        (
            SELECT DISTINCT alias, tenant, request_key, first_bucket
            FROM
            (
                SELECT alias, tenant, trace_id, argMax(request_key, version) AS request_key, argMax(first_bucket, version) AS first_bucket
                FROM identity
                WHERE kind = 1
                    AND alias IN (SELECT reinterpretAsFixedString(sipHash128(arrayJoin(ids))) FROM {scratch:Identifier}.batch_traces)
                    AND (bucket IN (SELECT arrayJoin([-600, 0, 600]) + toStartOfTenMinutes(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) FROM {scratch:Identifier}.batch_traces)
                        OR ingested_at >= now('UTC') - 3600)
                GROUP BY alias, tenant, trace_id
            )
        )
        GROUP BY alias
    ) AS k ON e.alias = k.alias
)
GROUP BY id
HAVING max(arrayExists(k -> k.2 != key, known)) OR (uniqExact(key) > 1 AND (min(tenant) = '' OR uniqExact((tenant, key)) > uniqExact(tenant)))
