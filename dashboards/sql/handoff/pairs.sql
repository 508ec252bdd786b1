-- Hand-offs by pair of workers: how many, how much, how fast (bytes a second; 1 GB is 1e9 bytes), posting share, failures. As GET /transfers?by=pair.
SELECT
    concat(if(producer = '', 'unknown', toString(producer)), ' → ', if(consumer = '', 'unknown', toString(consumer))) AS pair,
    count() AS handoffs, sum(t.bytes) AS moved,
    quantile(0.5)(gb_per_second) * 1e9 AS rate_p50, quantile(0.05)(gb_per_second) * 1e9 AS rate_p5, any(link_gb_per_second) * 1e9 AS link,
    quantile(0.5)(post_share) AS posting, countIf(status IN ('failed', 'expired', 'partial')) AS failed,
    anyIf(toString(transport), transport != '') AS over
FROM kv_transfers AS t
WHERE $__timeFilter(at)
    AND $__conditionalAll(hasAny([toString(producer), toString(consumer)], [${worker:singlequote}]), $worker)
GROUP BY pair
ORDER BY handoffs DESC, pair
LIMIT 200
