-- Processes that sent telemetry, newest first.
SELECT service, worker, pool, version, gpus, first_seen
FROM processes
ORDER BY first_seen DESC
LIMIT 500
