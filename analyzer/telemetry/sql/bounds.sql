-- Histograms whose buckets changed within the window.
SELECT toString(metric) AS metric, uniqExact(worker) AS workers, max(sets) AS sets
FROM
(
    SELECT metric, worker, uniqExact(bounds) AS sets
    FROM signals
    WHERE kind = 'histogram' AND notEmpty(bounds) AND time_ns > {from_ns:Int64} AND time_ns <= {to_ns:Int64}
    GROUP BY metric, worker
    HAVING sets > 1
)
GROUP BY metric
ORDER BY metric
