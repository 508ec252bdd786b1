-- Requests over time that telemetry is short of: no request span was joined, or spans came after it was finished.
SELECT $__timeInterval(started_at) AS time, countIf(has(notes, 'no_request_span')) AS unjoined, countIf(late_spans > 0) AS late,
    countIf(duplicate_spans > 0) AS duplicated, countIf(isNull(ttft_seconds)) AS without_ttft
FROM request_log
WHERE $__timeFilter(started_at)
GROUP BY time
ORDER BY time
