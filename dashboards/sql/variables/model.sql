-- Values of model in the time range.
SELECT DISTINCT model FROM request_log WHERE $__timeFilter(started_at) AND model != '' ORDER BY model LIMIT 500
