-- Requests per minute and configured objective: met, missed, why. Filter on minute: only those minutes are read.
CREATE VIEW objective_minutes AS
SELECT * EXCEPT (newest, version, computed_at)
FROM (SELECT *, max(version) OVER (PARTITION BY minute) AS newest FROM objective_minutes_kept FINAL)
WHERE version = newest AND objective != ''
