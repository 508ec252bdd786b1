-- How many times too fast the budget of each objective of one period burns over the time range of the query: 1 spends it in exactly its period.
SELECT objective AS slo, sumIf(c.requests, cause != 'none') / sum(c.requests) / (1 - any(target)) AS burn
FROM causes_by_minute AS c
INNER JOIN current_objectives AS o ON o.name = c.objective
WHERE minute >= toStartOfMinute($__fromTime) AND minute <= $__toTime
GROUP BY slo
HAVING sum(c.requests) > 0 AND any(period_days) = ${period_days}
ORDER BY slo
