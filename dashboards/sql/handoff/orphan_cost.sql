-- Bytes × seconds that orphans held, by the time they began.
SELECT $__timeInterval(since) AS time, side, sum(ifNull(byte_seconds, 0)) AS cost
FROM kv_holdings(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, horizon_ns = toUnixTimestamp($__toTime) * 1000000000)
WHERE orphan
    AND $__conditionalAll(worker IN (${worker:singlequote}), $worker)
    AND $__conditionalAll(side IN (${pool:singlequote}), $pool)
GROUP BY time, side
ORDER BY time, side
