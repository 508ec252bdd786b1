-- The traces touched by the spans of one step, with what identity knows of them. after, upto: ingest sequences.
INSERT INTO {scratch:Identifier}.batch_traces
WITH
    (
        SELECT (arrayPushBack(groupArray(resource_id), 0), arrayPushBack(groupArray(said), ''))
        FROM (SELECT resource_id, any(attrs['pd.tenant']) AS said FROM resources WHERE attrs['pd.tenant'] != '' GROUP BY resource_id)
    ) AS stamped
SELECT
    b.trace_id, b.roots, b.ids, b.start_ns, b.end_ns, b.minutes,
    k.known, k.bucket, k.request_key, k.first_bucket, k.root_span_id, k.minutes, k.rule,
    arrayDistinct(arrayFilter(t -> t != '', arrayConcat(b.tenants, [k.tenant]))), k.tenant
FROM
(
    SELECT
        trace_id,
        arraySort(groupUniqArrayIf(span_id, root = 1)) AS roots,
        arrayDistinct(groupArrayArray(ids)) AS ids,
        min(start_ns) AS start_ns,
        max(end_ns) AS end_ns,
        groupUniqArray(toStartOfMinute(toDateTime(intDiv(span_facts.start_ns, 1000000000), 'UTC'))) AS minutes,
        -- what a process says outranks what its spans say
        groupArrayIf(if((transform(resource_id, stamped.1, stamped.2, '') AS own) != '', own, facts.value[indexOf(facts.name, 'tenant')]) AS tenant, tenant != '') AS tenants
    FROM span_facts
    WHERE ingest_sequence > {after:UInt64} AND ingest_sequence <= {upto:UInt64}
    GROUP BY trace_id
) AS b
LEFT JOIN
(
    SELECT
        alias, 1 AS known, argMax(identity.bucket, version) AS bucket, argMax(request_key, version) AS request_key,
        argMax(first_bucket, version) AS first_bucket, argMax(root_span_id, version) AS root_span_id,
        argMax(identity.minutes, version) AS minutes, argMax(identity.rule, version) AS rule,
        argMax(identity.tenant, version) AS tenant
    FROM identity
    WHERE kind = 0
        AND alias IN (SELECT trace_id FROM span_facts WHERE ingest_sequence > {after:UInt64} AND ingest_sequence <= {upto:UInt64})
        AND (
            identity.bucket IN (SELECT arrayJoin([-600, 0, 600]) + toStartOfTenMinutes(toDateTime(intDiv(start_ns, 1000000000), 'UTC'))
                FROM span_facts WHERE ingest_sequence > {after:UInt64} AND ingest_sequence <= {upto:UInt64})
            OR ingested_at >= now('UTC') - 3600)
    GROUP BY alias
) AS k ON b.trace_id = k.alias
