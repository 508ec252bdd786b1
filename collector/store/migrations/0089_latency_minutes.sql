-- Sketches of latencies per minute. Percentiles of a window: quantilesDDMerge(0.003, 0.5, 0.9, 0.95, 0.99)(ttft_sketch), in seconds.
CREATE VIEW latency_minutes AS
SELECT * EXCEPT (newest, version, computed_at)
FROM (SELECT *, max(version) OVER (PARTITION BY minute) AS newest FROM latency_minutes_kept FINAL)
WHERE version = newest AND requests > 0
