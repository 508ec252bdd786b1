-- How many times too fast one cause alone burns each objective's budget over the time range of the query; causes of fewer than five misses are left out.
SELECT c.slo AS slo, reason AS cause, blamed / judged / (1 - target) AS burn
FROM
(
    SELECT objective AS slo, toString(cause) AS reason, sum(requests) AS blamed
    FROM causes_by_minute
    WHERE minute >= toStartOfMinute($__fromTime) AND minute < $__toTime
    GROUP BY slo, reason
    HAVING blamed >= 5
) AS c
INNER JOIN
(
    SELECT objective AS slo, sum(evaluated) AS judged
    FROM objective_minutes
    WHERE minute >= toStartOfMinute($__fromTime) AND minute < $__toTime
    GROUP BY slo
) AS m ON m.slo = c.slo
INNER JOIN current_objectives AS o ON o.name = c.slo
ORDER BY slo, cause
