-- Workers that came back as something else: another version, pool or number of accelerators than before.
SELECT
    first_seen AS time,
    'configuration change' AS title,
    concat(worker, ': ', arrayStringConcat(arrayFilter(c -> c != '', [
        if(version = version_before, '', concat('version ', version_before, ' to ', version)),
        if(pool = pool_before, '', concat('pool ', pool_before, ' to ', pool)),
        if(gpus = gpus_before, '', concat('accelerators ', toString(gpus_before), ' to ', toString(gpus)))]), ', ')) AS text,
    'configuration' AS tags
FROM
(
    SELECT
        first_seen, worker, version, pool, gpus,
        lagInFrame(version, 1, version) OVER by_time AS version_before,
        lagInFrame(pool, 1, pool) OVER by_time AS pool_before,
        lagInFrame(gpus, 1, gpus) OVER by_time AS gpus_before
    FROM processes
    WINDOW by_time AS (PARTITION BY service, worker ORDER BY first_seen, created ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
)
WHERE (version != version_before OR pool != pool_before OR gpus != gpus_before)
    AND $__timeFilter(first_seen) AND $__conditionalAll(worker IN (${worker:singlequote}), $worker)
ORDER BY time
LIMIT 200
