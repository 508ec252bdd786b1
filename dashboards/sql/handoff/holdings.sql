-- What became of KV, by state and the time it was published or reserved. Orphans are expired, aborted, held and never_filled.
SELECT $__timeInterval(since) AS time, toString(state) AS became, count() AS handoffs
FROM kv_holdings(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, horizon_ns = toUnixTimestamp($__toTime) * 1000000000)
WHERE $__conditionalAll(worker IN (${worker:singlequote}), $worker)
    AND $__conditionalAll(side IN (${pool:singlequote}), $pool)
GROUP BY time, became
ORDER BY time, became
