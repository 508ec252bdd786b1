-- How far a first token's instant may be off because clocks of two hosts are compared, by where it was seen: seconds.
SELECT if(ttft_source = '', 'not seen', toString(ttft_source)) AS seen_by, count() AS requests,
    quantile(0.5)(ttft_uncertainty_seconds) AS p50, quantile(0.99)(ttft_uncertainty_seconds) AS p99
FROM request_log
WHERE $__timeFilter(started_at)
GROUP BY seen_by
ORDER BY requests DESC
