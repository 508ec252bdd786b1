-- Bytes a second handed over.
SELECT $__timeInterval(at) AS time, sum(bytes) / $__interval_s AS per_second
FROM kv_transfers
WHERE isNotNull(bytes) AND $__timeFilter(at)
    AND $__conditionalAll(hasAny([toString(producer), toString(consumer)], [${worker:singlequote}]), $worker)
GROUP BY time
ORDER BY time
