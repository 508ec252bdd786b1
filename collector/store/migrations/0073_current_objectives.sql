-- The objectives in force. arguments: those of judged_requests, as text for queries that are written elsewhere.
CREATE VIEW current_objectives AS
SELECT position, name, model, route, tenant, input_bucket, ttft_seconds, tpot_seconds, target, period_days
FROM objectives
WHERE version = (SELECT max(version) FROM objectives)
ORDER BY position
