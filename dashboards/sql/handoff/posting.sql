-- Part of the transfer time that was spent posting descriptors: median over time.
SELECT $__timeInterval(at) AS time, quantile(0.5)(post_share) AS median
FROM kv_transfers
WHERE isNotNull(post_share) AND $__timeFilter(at)
    AND $__conditionalAll(hasAny([toString(producer), toString(consumer)], [${worker:singlequote}]), $worker)
GROUP BY time
ORDER BY time
