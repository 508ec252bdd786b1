-- The processes that sent telemetry, one row per start: the name requests know them by, what they say of themselves, when first seen.
CREATE VIEW processes AS
SELECT
    toString(service) AS service,
    if(instance != '', toString(instance), toString(service)) AS worker,
    toString(pool) AS pool,
    attrs['service.version'] AS version,
    attrs['process.creation.time'] AS created,
    toUInt32OrZero(attrs['pd.gpus']) AS gpus,
    min(seen_at) AS first_seen
FROM resources FINAL
GROUP BY service, worker, pool, version, created, gpus
