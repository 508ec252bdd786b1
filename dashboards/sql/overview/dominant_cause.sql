-- The cause with the largest share of the missed requests, with the share.
SELECT concat(cause, ' (', toString(round(100 * missed / total)), '% of misses)') AS dominant
FROM
(
    SELECT toString(cause) AS cause, sum(c.requests) AS missed, sum(sum(c.requests)) OVER () AS total
    FROM causes_by_minute AS c
    WHERE minute >= toStartOfMinute($__fromTime) AND minute <= $__toTime AND cause != 'none'
        AND $__conditionalAll(model IN (${model:singlequote}), $model)
        AND $__conditionalAll(tenant IN (${tenant:singlequote}), $tenant)
        AND $__conditionalAll(route IN (${route:singlequote}), $route)
        AND $__conditionalAll(cohort IN (${cohort:singlequote}), $cohort)
        AND $__conditionalAll(objective IN (${objective:singlequote}), $objective)
    GROUP BY cause
    ORDER BY missed DESC
    LIMIT 1
)
WHERE total > 0
