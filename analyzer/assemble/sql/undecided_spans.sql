-- All spans so far of the traces that need a decision; ids, request spans and whose they are as the rules read them.
SELECT
    s.trace_id AS trace_id, s.span_id AS span_id, s.parent_id AS parent_id, s.resource_id AS resource_id,
    min(s.start_ns) AS start_ns, max(s.end_ns) AS end_ns, max(f.root) = 1 AS root, any(f.ids) AS ids,
    any(if(p.tenant != '', p.tenant, f.said)) AS tenant, max(f.root = 1 AND f.dialect = 'native') AS outside
FROM
(
    SELECT trace_id, span_id, parent_id, resource_id, start_ns, end_ns FROM spans
    WHERE trace_id IN (SELECT toFixedString(unhex(arrayJoin({traces:Array(String)})), 16))
        AND toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) IN {minutes:Array(DateTime('UTC'))}
) AS s
LEFT ANY JOIN
(
    SELECT trace_id, span_id, resource_id, root, dialect, ids, facts.value[indexOf(facts.name, 'tenant')] AS said FROM span_facts
    WHERE trace_id IN (SELECT toFixedString(unhex(arrayJoin({traces:Array(String)})), 16))
        AND toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) IN {minutes:Array(DateTime('UTC'))}
) AS f ON s.trace_id = f.trace_id AND s.span_id = f.span_id AND s.resource_id = f.resource_id
LEFT ANY JOIN (SELECT resource_id, attrs['pd.tenant'] AS tenant FROM resources WHERE tenant != '') AS p ON s.resource_id = p.resource_id
GROUP BY trace_id, span_id, parent_id, resource_id
