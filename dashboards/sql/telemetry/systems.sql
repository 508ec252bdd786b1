-- Requests by serving system, and what telemetry left open about them.
SELECT
    if(system = '', 'unknown', toString(system)) AS name, count() AS requests, countIf(outcome = '') AS without_outcome, countIf(isNull(ttft_seconds)) AS without_ttft,
    countIf(has(notes, 'no_request_span')) AS unjoined, sum(l.late_spans) AS late, sum(l.duplicate_spans) AS duplicates, max(started_at) AS newest
FROM request_log AS l
WHERE $__timeFilter(started_at)
GROUP BY name
ORDER BY requests DESC
LIMIT 50
