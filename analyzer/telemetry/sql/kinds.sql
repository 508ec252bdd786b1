-- Metrics by the kinds they arrived as; of those that a signal is read from, whether any rule reads such a kind.
SELECT
    metric, arraySort(groupUniqArray(kind)) AS kinds, argMax(kind, last_ns) AS now, sum(points_) AS points,
    any(metric IN (SELECT metric FROM signal_rules)) AS mapped,
    any((metric, if(kind IN ('gauge', 'sum'), 'value', 'distribution')) IN (SELECT metric, if(reads = 'value', 'value', 'distribution') FROM signal_rules)) AS read
FROM
(
    SELECT toString(metric) AS metric, toString(kind) AS kind, max(time_ns) AS last_ns, count() AS points_
    FROM signals
    WHERE time_ns > {from_ns:Int64} AND time_ns <= {to_ns:Int64}
    GROUP BY metric, kind
)
GROUP BY metric
HAVING length(kinds) > 1 OR (mapped AND NOT read)
ORDER BY metric
