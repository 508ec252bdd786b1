-- The cause with the largest share of the missed requests, with the share; none while the target is met. As dominant_cause of GET /diagnosis.
SELECT if(met >= wanted * judged, 'none: the target is met', concat(largest, ' (', toString(round(100 * most / missed)), '% of misses)')) AS dominant
FROM
(
    SELECT sum(m.met) AS met, sum(m.evaluated) AS judged
    FROM objective_minutes AS m
    WHERE minute >= toStartOfMinute($__fromTime) AND minute < $__toTime
        AND $__conditionalAll(model IN (${model:singlequote}), $model)
        AND $__conditionalAll(tenant IN (${tenant:singlequote}), $tenant)
        AND $__conditionalAll(route IN (${route:singlequote}), $route)
        AND $__conditionalAll(cohort IN (${cohort:singlequote}), $cohort)
        AND $__conditionalAll(input_bucket IN (${input_bucket:singlequote}), $input_bucket)
        AND $__conditionalAll(objective IN (${objective:singlequote}), $objective)
) AS counts
CROSS JOIN (SELECT max(target) AS wanted FROM current_objectives WHERE $__conditionalAll(name IN (${objective:singlequote}), $objective)) AS targets
CROSS JOIN
(
    SELECT argMax(cause, blamed) AS largest, max(blamed) AS most, sum(blamed) AS missed
    FROM
    (
        SELECT toString(cause) AS cause, sum(requests) AS blamed
        FROM causes_by_minute
        WHERE minute >= toStartOfMinute($__fromTime) AND minute < $__toTime
            AND $__conditionalAll(model IN (${model:singlequote}), $model)
            AND $__conditionalAll(tenant IN (${tenant:singlequote}), $tenant)
            AND $__conditionalAll(route IN (${route:singlequote}), $route)
            AND $__conditionalAll(cohort IN (${cohort:singlequote}), $cohort)
            AND $__conditionalAll(input_bucket IN (${input_bucket:singlequote}), $input_bucket)
            AND $__conditionalAll(objective IN (${objective:singlequote}), $objective)
        GROUP BY cause
    )
) AS causes
WHERE judged > 0
