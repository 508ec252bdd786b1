-- cause_minutes as of the newest version of each minute: what was there before a minute was recomputed is left out.
CREATE VIEW causes_by_minute AS
SELECT minute, objective, model, tenant, route, cohort, cause, requests, would_have_met, excess_ttft_seconds, excess_tpot_seconds
FROM (SELECT *, max(version) OVER (PARTITION BY minute) AS newest FROM cause_minutes FINAL)
WHERE version = newest AND cause != ''
