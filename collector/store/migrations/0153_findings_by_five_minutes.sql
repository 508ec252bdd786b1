-- findings_kept as of the newest version of each five minutes.
CREATE VIEW findings_by_five_minutes AS
SELECT started, model, finding, severity, detail, requests
FROM (SELECT *, max(version) OVER (PARTITION BY started) AS newest FROM findings_kept FINAL)
WHERE version = newest AND finding != ''
