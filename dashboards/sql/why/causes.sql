-- Why requests missed: how many by cause, their share, what the cause added in the mean, and how many would have met without it.
SELECT
    toString(cause) AS reason,
    sum(c.requests) AS missed,
    missed / nullIf(sum(sum(c.requests)) OVER (), 0) AS share,
    sum(excess_ttft_seconds) / nullIf(missed, 0) AS excess_ttft,
    sum(excess_tpot_seconds) / nullIf(missed, 0) AS excess_tpot,
    sum(c.would_have_met) AS met_without
FROM causes_by_minute AS c
WHERE minute >= toStartOfMinute($__fromTime) AND minute < $__toTime
    AND $__conditionalAll(model IN (${model:singlequote}), $model)
    AND $__conditionalAll(tenant IN (${tenant:singlequote}), $tenant)
    AND $__conditionalAll(route IN (${route:singlequote}), $route)
    AND $__conditionalAll(cohort IN (${cohort:singlequote}), $cohort)
    AND $__conditionalAll(input_bucket IN (${input_bucket:singlequote}), $input_bucket)
    AND $__conditionalAll(objective IN (${objective:singlequote}), $objective)
GROUP BY reason
ORDER BY missed DESC
