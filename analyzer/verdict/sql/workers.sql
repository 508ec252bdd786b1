-- Processes by the name that requests know them by: role, accelerators, starts, and what both sides of a hand-off must agree on.
SELECT
    if(instance != '', instance, toString(service)) AS worker,
    cityHash64(worker) AS code,
    toString(pool) AS role,
    toString(service) AS service,
    attrs['host.name'] AS host,
    toFloat64(toUInt32OrZero(attrs['pd.gpus'])) AS gpus,
    attrs['service.version'] AS version,
    attrs['process.creation.time'] AS created,
    arrayStringConcat(arrayMap((k, v) -> concat(substring(k, 11), '=', v), mapKeys(compat), mapValues(compat)), '\n') AS agreed,
    toInt64(toUnixTimestamp(seen_at)) * 1000000000 AS seen_ns
FROM
(
    SELECT *, mapSort(mapFilter((k, v) -> startsWith(k, 'pd.compat.'), attrs)) AS compat FROM resources FINAL
)
