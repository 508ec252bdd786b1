-- Metrics that arrive and feed no signal; the adapters say why for those they know. What scraping tells of itself is read elsewhere.
SELECT metric, any(kind) AS kind, uniqExact(worker) AS workers, uniqExact(series) AS series, count() AS points, max(time_ns) AS last_ns
FROM signals
WHERE time_ns > {from_ns:Int64} AND time_ns <= {to_ns:Int64} AND metric NOT IN (SELECT metric FROM signal_rules) AND NOT startsWith(metric, 'pdscope.')
GROUP BY metric
ORDER BY metric
