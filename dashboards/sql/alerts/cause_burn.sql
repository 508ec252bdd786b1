-- How many times too fast one cause alone burns each objective's budget over the time range of the query; causes of fewer than five misses are left out.
SELECT slo, reason AS cause, missed / sum(all_of_cause) OVER (PARTITION BY slo) / (1 - target) AS burn
FROM
(
    SELECT objective AS slo, toString(c.cause) AS reason, any(o.target) AS target, sum(c.requests) AS all_of_cause, if(reason = 'none', 0, all_of_cause) AS missed
    FROM causes_by_minute AS c
    INNER JOIN current_objectives AS o ON o.name = c.objective
    WHERE minute >= toStartOfMinute($__fromTime) AND minute <= $__toTime
    GROUP BY slo, reason
)
QUALIFY missed >= 5
ORDER BY slo, cause
