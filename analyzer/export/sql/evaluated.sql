-- Evaluated requests that started in the minutes from {since} to {until} (Unix seconds), by objective and model.
SELECT objective, model, sum(o.evaluated) AS evaluated
FROM objective_minutes AS o
WHERE minute >= toDateTime({since:Int64}, 'UTC') AND minute <= toDateTime({until:Int64}, 'UTC')
GROUP BY objective, model
