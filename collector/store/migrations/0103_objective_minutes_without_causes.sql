-- What became of requests, by the minute they started in and configured objective. Why they missed is in causes_by_minute.
-- Filter on minute: only those minutes are read.
CREATE OR REPLACE VIEW objective_minutes AS
SELECT * EXCEPT (newest, version, computed_at, counted_upto, causes)
FROM (SELECT *, max(version) OVER (PARTITION BY minute) AS newest FROM objective_minutes_kept FINAL)
WHERE version = newest AND objective != ''
