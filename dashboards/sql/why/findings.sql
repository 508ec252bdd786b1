-- What GET /diagnosis found about the fleet and its telemetry, five minutes at a time, for the models chosen.
SELECT
    toString(finding) AS found,
    toString(argMin(severity, indexOf(['critical', 'warning', 'info'], severity))) AS worst,
    uniqExact(started) AS held,
    max(started) AS seen,
    max(requests) AS most_requests,
    argMax(detail, started) AS words
FROM findings_by_five_minutes
WHERE started > $__fromTime - INTERVAL 5 MINUTE AND started < $__toTime
    AND $__conditionalAll(model IN (${model:singlequote}), $model)
GROUP BY found
ORDER BY indexOf(['critical', 'warning', 'info'], worst), held DESC
LIMIT 50
