-- Causes by prompt length, too. A row says why requests of a minute missed, and nothing else: how many there were, met and missed is
-- in objective_minutes, counted at the same moment. Both hold whole minutes as versions of one count: the newest of a minute is its answer.
ALTER TABLE cause_minutes
    ADD COLUMN input_bucket LowCardinality(String) AFTER cohort,
    MODIFY ORDER BY (minute, objective, cause, model, tenant, route, cohort, input_bucket)
