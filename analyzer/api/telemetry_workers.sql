-- The processes that sent spans. A process that speaks again replaces its row: only its newest time is kept.
SELECT service, instance, pool, attrs['service.version'] AS version, max(seen_at) AS last_seen
FROM resources FINAL
GROUP BY service, instance, pool, version
ORDER BY service, instance, pool, version
LIMIT 1000
