-- Values of route in the time range.
SELECT DISTINCT route FROM request_log WHERE $__timeFilter(started_at) AND route != '' ORDER BY route LIMIT 500
