-- Missed requests that started in the minutes from {since} to {until} (Unix seconds), by objective, model and cause.
SELECT objective, model, cause, sum(c.requests) AS missed
FROM causes_by_minute AS c
WHERE minute >= toDateTime({since:Int64}, 'UTC') AND minute <= toDateTime({until:Int64}, 'UTC')
GROUP BY objective, model, cause
