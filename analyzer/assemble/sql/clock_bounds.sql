-- What the step's requests say about pairs of clocks, by causality alone: dispatch before prefill has it; the request's start before
-- decode has it; a prompt computed before its KV is offered; KV offered before it is usable; a token sampled before it is sent.
-- Only phases that a span states itself, of requests with a request span and one attempt. Stamps as they were sent.
INSERT INTO clock_bounds
SELECT slice, bound.1 AS earlier, bound.2 AS later, min(bound.3) AS slack_ns, count() AS seen
FROM
(
    SELECT
        toStartOfFiveMinutes(first_bucket) AS slice,
        arrayJoin(arrayFilter(b -> b.1 != b.2 AND b.1 != '' AND b.2 != '', arrayConcat(
            arrayFlatten(arrayMap(a -> arrayMap(b -> (a.2, b.2, b.3 - a.4), arrayFilter(i -> i.1 = 3, ivs)), arrayFilter(i -> i.1 = 1, ivs))),
            arrayMap(b -> (router, b.2, b.3 - t0), arrayFilter(i -> i.1 = 7, ivs)),
            arrayFlatten(arrayMap(a -> arrayMap(b -> (a.2, b.2, b.4 - a.4), arrayFilter(i -> i.1 = 5, ivs)), arrayFilter(i -> i.1 = 4, ivs))),
            arrayFlatten(arrayMap(a -> arrayMap(b -> (a.2, b.2, b.4 - a.4), arrayFilter(i -> i.1 = 8, ivs)), arrayFilter(i -> i.1 = 5, ivs))),
            if(first_token = 0, [], arrayMap(a -> (a.2, router, first_token - a.4), arrayFilter(i -> i.1 IN (4, 9), ivs)))))) AS bound
    FROM
    (
        SELECT
            any(first_bucket) AS first_bucket,
            anyIf(worker, root = 1) AS router,
            minIf(start_ns + shift_ns, root = 1) AS t0,
            maxIf(arrayMax(arrayPushBack(arrayMap(k -> k.3 + shift_ns, arrayFilter(k -> k.1 = 'first_token', marks)), 0)), root = 1) AS first_token,
            groupArrayArray(arrayMap(i -> (i.1, worker, i.3 + shift_ns, i.4 + shift_ns), arrayFilter(i -> i.2 = 0 AND i.5 = 0 AND i.6 = 1, intervals))) AS ivs
        FROM {scratch:Identifier}.batch_spans
        GROUP BY request_key
        HAVING max(root = 1) AND max(attempt) <= 1 AND uniqExactIf(attempt_id, attempt_id NOT IN ('', '@next')) <= 1
            AND max(arrayMax(arrayPushBack(intervals.8, 0))) <= 1
    )
)
GROUP BY slice, earlier, later
