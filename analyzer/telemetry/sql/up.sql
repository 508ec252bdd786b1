-- Every change of whether a scraped worker answers, and its last reading; and that it left. since_ns: when this state began.
SELECT worker, anyLast(pool) AS pool, anyLast(job) AS job, argMax(value, time_ns) AS up, max(time_ns) AS last_ns,
    maxIf(time_ns, value != before) AS since_ns, greatest(countIf(value != before), 1) - 1 AS changes
FROM
(
    SELECT
        toString(s.worker) AS worker, toString(s.pool) AS pool, toString(r.service) AS job, s.time_ns AS time_ns, s.value AS value,
        ifNull(lagInFrame(toNullable(s.value)) OVER (PARTITION BY s.worker ORDER BY s.time_ns ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING), -1) AS before
    FROM (SELECT * FROM signals FINAL WHERE metric = 'up' AND time_ns > {from_ns:Int64} AND time_ns <= {to_ns:Int64}) AS s
    LEFT JOIN (SELECT resource_id, any(service) AS service FROM resources GROUP BY resource_id) AS r ON s.resource_id = r.resource_id
)
GROUP BY worker
ORDER BY worker
LIMIT 2000
