-- Missed requests by cause and the time they started in.
SELECT $__timeInterval(minute) AS time, toString(cause) AS reason, sum(c.requests) AS requests
FROM causes_by_minute AS c
WHERE minute >= toStartOfMinute($__fromTime) AND minute < $__toTime
    AND $__conditionalAll(model IN (${model:singlequote}), $model)
    AND $__conditionalAll(tenant IN (${tenant:singlequote}), $tenant)
    AND $__conditionalAll(route IN (${route:singlequote}), $route)
    AND $__conditionalAll(cohort IN (${cohort:singlequote}), $cohort)
    AND $__conditionalAll(input_bucket IN (${input_bucket:singlequote}), $input_bucket)
    AND $__conditionalAll(objective IN (${objective:singlequote}), $objective)
GROUP BY time, reason
ORDER BY time, reason
