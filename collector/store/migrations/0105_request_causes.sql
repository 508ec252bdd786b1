-- Why single requests missed: the cause with the largest share, all shares, and the causes without which the request would have met.
-- A verdict among the requests of its model and five minutes and the quarter of an hour before, of the objectives in force when it was counted.
CREATE VIEW request_causes AS
SELECT lower(hex(request_key)) AS key, first_bucket, mapKeys(causes)[1] AS cause, causes, met_without
FROM request_causes_kept FINAL
