-- Why requests missed, by the minute they started in: cause_minutes as of the newest version of each minute. requests may be fractional:
-- a miss is shared by its causes. Rows of requests that met, which earlier releases wrote, are left out: see objective_minutes.
CREATE OR REPLACE VIEW causes_by_minute AS
SELECT minute, objective, model, tenant, route, cohort, input_bucket, cause, requests, would_have_met, excess_ttft_seconds, excess_tpot_seconds
FROM (SELECT *, max(version) OVER (PARTITION BY minute) AS newest FROM cause_minutes FINAL)
WHERE version = newest AND cause NOT IN ('', 'none')
