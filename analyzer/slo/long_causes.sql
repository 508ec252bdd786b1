-- Why requests of a long window missed, by objective as it was configured when each minute was counted.
SELECT objective, ttft_limit_seconds, tpot_limit_seconds, target, cause, round(sum(c.requests), 6) AS requests
FROM causes_by_minute AS c
INNER JOIN
(
    SELECT DISTINCT minute, objective, ttft_limit_seconds, tpot_limit_seconds, target
    FROM objective_minutes
    WHERE minute >= toDateTime({from_s:UInt32}, 'UTC') AND minute < toDateTime({to_s:UInt32}, 'UTC')
) AS o ON o.minute = c.minute AND o.objective = c.objective
WHERE c.minute >= toDateTime({from_s:UInt32}, 'UTC') AND c.minute < toDateTime({to_s:UInt32}, 'UTC')
    AND ({model:String} = '' OR model = {model:String}) AND ({tenant:String} = '' OR tenant = {tenant:String})
    AND ({route:String} = '' OR route = {route:String}) AND ({cohort:String} = '' OR cohort = {cohort:String})
GROUP BY objective, ttft_limit_seconds, tpot_limit_seconds, target, cause
ORDER BY requests DESC
