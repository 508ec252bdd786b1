-- How many times too fast the budget of each objective of one period burns over the time range of the query: 1 spends it in exactly its period.
SELECT objective AS slo, sum(m.missed) / sum(m.evaluated) / (1 - any(o.target)) AS burn
FROM objective_minutes AS m
INNER JOIN current_objectives AS o ON o.name = m.objective
WHERE minute >= toStartOfMinute($__fromTime) AND minute < $__toTime
GROUP BY slo
HAVING sum(m.evaluated) > 0 AND any(period_days) = ${period_days}
ORDER BY slo
