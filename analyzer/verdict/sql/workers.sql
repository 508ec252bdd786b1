-- Processes by the name that requests know them by: role, accelerators, starts, and what both sides of a hand-off must agree on.
-- What a process says in its resource comes after what its metrics tell, and counts; of several lives of a name the newest does.
SELECT worker, cityHash64(worker) AS code, role, service, host, gpus, version, created, agreed, seen_ns
FROM
(
    SELECT
        0 AS rank, worker, '' AS role, '' AS service, '' AS host, toFloat64(0) AS gpus, '' AS version, '' AS created,
        arrayStringConcat(groupArray(concat(r.name, '=', labels[r.label])), '\n') AS agreed, max(intDiv(time_ns, 1000000000)) * 1000000000 AS seen_ns
    FROM (SELECT * FROM worker_info FINAL) AS i
    INNER JOIN info_rules AS r ON i.metric = r.metric
    WHERE labels[r.label] NOT IN ('', 'None')
    GROUP BY worker
    UNION ALL
    SELECT
        1 AS rank,
        if(instance != '', instance, CAST(service, 'String')) AS worker,
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
)
ORDER BY rank, created, seen_ns
