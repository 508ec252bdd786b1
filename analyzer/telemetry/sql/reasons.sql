-- Why scraped workers could not be had, or left: the newest reason of each.
SELECT toString(worker) AS worker, metric = 'pdscope.target.left' AS left, argMax(labels['reason'], time_ns) AS reason, max(time_ns) AS at_ns
FROM signals
WHERE metric IN ('pdscope.scrape.failed', 'pdscope.target.left') AND time_ns > {from_ns:Int64} AND time_ns <= {to_ns:Int64}
GROUP BY worker, left
