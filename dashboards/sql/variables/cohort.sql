-- Values of cohort in the time range.
SELECT DISTINCT cohort FROM request_log WHERE $__timeFilter(started_at) AND cohort != '' ORDER BY cohort LIMIT 500
