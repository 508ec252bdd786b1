-- The phase intervals of each request, one row each, for waterfalls. seconds: length; offset_seconds: from the request's start.
-- phase is empty for a composite; covers then names the phases it holds. source: observed, derived or bounded.
CREATE VIEW request_phases AS
SELECT
    lower(hex(request_key)) AS key, request_id, lower(hex(trace_id)) AS trace_id, model, tenant, started_at,
    interval.phase AS phase, interval.covers AS covers, interval.worker AS worker, interval.attempt AS attempt,
    interval.source AS source, interval.reason AS reason,
    fromUnixTimestamp64Nano(interval.start_ns, 'UTC') AS began_at,
    fromUnixTimestamp64Nano(interval.end_ns, 'UTC') AS done_at,
    (interval.start_ns - toUnixTimestamp64Nano(started_at)) / 1e9 AS offset_seconds,
    (interval.end_ns - interval.start_ns) / 1e9 AS seconds
FROM (SELECT * FROM requests FINAL WHERE tombstone = 0 SETTINGS do_not_merge_across_partitions_select_final = 1)
ARRAY JOIN intervals AS interval
