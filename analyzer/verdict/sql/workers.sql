-- Processes by the name that requests know them by: role, accelerators, starts, and what both sides of a hand-off must agree on.
-- The newest life of a name comes last: what it says about itself counts.
SELECT
    if(instance != '', instance, CAST(service, 'String')) AS worker,
    cityHash64(worker) AS code,
    CAST(pool, 'String') AS role,
    CAST(service, 'String') AS service,
    CAST(attrs['host.name'], 'String') AS host,
    toFloat64(toUInt32OrZero(attrs['pd.gpus'])) AS gpus,
    CAST(attrs['service.version'], 'String') AS version,
    CAST(attrs['process.creation.time'], 'String') AS created,
    arrayStringConcat(arrayMap((k, v) -> concat(substring(k, 11), '=', v), mapKeys(compat), mapValues(compat)), '\n') AS agreed,
    toInt64(toUnixTimestamp(seen_at)) * 1000000000 AS seen_ns
FROM
(
    SELECT *, mapSort(mapFilter((k, v) -> startsWith(k, 'pd.compat.'), attrs)) AS compat FROM resources FINAL
)
ORDER BY created, seen_ns
