-- Numbers the spans of requests with several attempts: a span that does not say takes its parent's attempt. Named attempts are
-- numbered by when their first span began. Most steps have no such request.
INSERT INTO {scratch:Identifier}.batch_attempts
SELECT span.1, span.2, span.3, attempt
FROM
(
    SELECT
        keys,
        -- an engine's spans lie a handful of levels below the one that names the attempt
        arrayFold((found, level) -> arrayMap((mine, parent) -> if(mine > 0 OR parent = 0, mine, found[parent]), found, parents), range(8), own) AS attempts
    FROM
    (
        SELECT
            request_key,
            arraySort(groupArray((start_ns, span_id, trace_id, resource_id, parent_id, attempt_id, attempt))) AS members,
            arrayMap(s -> (s.3, s.2, s.4), members) AS keys,
            arrayMap(s -> indexOf(arrayMap(o -> (o.3, o.2), members), (s.3, s.5)), members) AS parents,
            arrayDistinct(arrayFilter(a -> a NOT IN ('', '@next'), arrayMap(s -> s.6, members))) AS names,
            arrayMap(s -> toUInt8(if(s.6 != '', least(indexOf(names, s.6), 250), s.7)), members) AS said,
            arrayMap((s, mine, place) -> if(s.6 = '@next', arrayFirst(o -> o > 0, arraySlice(said, place)), mine), members, said, arrayEnumerate(members)) AS own
        FROM {scratch:Identifier}.batch_spans
        WHERE request_key IN
        (
            SELECT request_key FROM {scratch:Identifier}.batch_spans
            WHERE attempt_id NOT IN ('', '@next') OR attempt > 1
            GROUP BY request_key
            HAVING uniqExactIf(attempt_id, attempt_id NOT IN ('', '@next')) > 1 OR max(attempt) > 1
        )
        GROUP BY request_key
    )
)
ARRAY JOIN keys AS span, attempts AS attempt
WHERE attempt > 0
LIMIT 1 BY span
