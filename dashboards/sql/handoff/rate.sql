-- Effective rate in bytes a second over time: median and slowest twentieth of transfers.
SELECT $__timeInterval(at) AS time, quantile(0.5)(gb_per_second) * 1e9 AS p50, quantile(0.05)(gb_per_second) * 1e9 AS p5
FROM kv_transfers
WHERE isNotNull(gb_per_second) AND $__timeFilter(at)
    AND $__conditionalAll(hasAny([toString(producer), toString(consumer)], [${worker:singlequote}]), $worker)
GROUP BY time
ORDER BY time
