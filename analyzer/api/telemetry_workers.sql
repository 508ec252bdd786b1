-- The processes that sent spans.
SELECT service, instance, pool, attrs['service.version'] AS version, min(seen_at) AS first_seen
FROM resources FINAL
GROUP BY service, instance, pool, version
ORDER BY service, instance, pool, version
LIMIT 1000
