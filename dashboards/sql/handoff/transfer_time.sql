-- Transfer time in seconds over time: from asking for the KV until it was there.
SELECT $__timeInterval(at) AS time, quantile(0.5)(transfer_seconds) AS p50, quantile(0.95)(transfer_seconds) AS p95, quantile(0.99)(transfer_seconds) AS p99
FROM kv_transfers
WHERE isNotNull(transfer_seconds) AND $__timeFilter(at)
    AND $__conditionalAll(hasAny([toString(producer), toString(consumer)], [${worker:singlequote}]), $worker)
GROUP BY time
ORDER BY time
