-- Workers that served requests in the time range.
SELECT DISTINCT arrayJoin([prefill_worker, decode_worker]) AS worker FROM request_log WHERE $__timeFilter(started_at) AND worker != '' ORDER BY worker LIMIT 1000
