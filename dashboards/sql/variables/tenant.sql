-- Values of tenant in the time range.
SELECT DISTINCT tenant FROM request_log WHERE $__timeFilter(started_at) AND tenant != '' ORDER BY tenant LIMIT 500
