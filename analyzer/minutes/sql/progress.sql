-- The ingest sequence up to which every minute has been counted, and the newest version that any count was written as.
SELECT
    (SELECT max(requests_version) FROM (SELECT * FROM rollup_progress FINAL WHERE id = 0)) AS upto,
    greatest(
        (SELECT max(version) FROM rollup_progress),
        (SELECT max(version) FROM objective_minutes_kept),
        (SELECT max(version) FROM latency_minutes_kept),
        (SELECT max(version) FROM cause_minutes)) AS version
