-- Sketches the latencies of whole minutes by label, as a new version of each.
INSERT INTO latency_minutes_kept
(minute, model, tenant, route, cohort, input_bucket, version, requests, ttft_sketch, tpot_sketch, e2e_sketch,
    ttft_count, tpot_count, e2e_count, ttft_max_seconds, tpot_max_seconds, e2e_max_seconds)
SELECT
    at, model, tenant, route, cohort, input_bucket, {version:UInt64}, count(),
    quantilesDDStateIf(0.003, 0.5, 0.9, 0.95, 0.99)(ifNull(ttft_ns, 0) / 1e9, isNotNull(ttft_ns)),
    quantilesDDStateIf(0.003, 0.5, 0.9, 0.95, 0.99)(ifNull(tpot_ns, 0) / 1e9, isNotNull(tpot_ns)),
    quantilesDDStateIf(0.003, 0.5, 0.9, 0.95, 0.99)(ifNull(e2e_ns, 0) / 1e9, isNotNull(e2e_ns)),
    count(ttft_ns), count(tpot_ns), count(e2e_ns), max(ttft_ns) / 1e9, max(tpot_ns) / 1e9, max(e2e_ns) / 1e9
FROM
(
    SELECT
        toDateTime(toStartOfMinute(started_at), 'UTC') AS at, model, tenant, route, cohort, ttft_ns, tpot_ns, e2e_ns,
        multiIf(isNull(input_tokens), '', input_tokens < 1024, '0-1K', input_tokens < 4096, '1-4K', input_tokens < 16384, '4-16K', '16K+') AS input_bucket
    FROM requests FINAL
    WHERE tombstone = 0
        AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
    SETTINGS do_not_merge_across_partitions_select_final = 1
)
GROUP BY at, model, tenant, route, cohort, input_bucket
UNION ALL
SELECT minute, '', '', '', '', '', {version:UInt64}, 0, initial, initial, initial, 0, 0, 0, NULL, NULL, NULL
FROM (SELECT arrayJoin({minutes:Array(DateTime('UTC'))}) AS minute) AS every
CROSS JOIN (SELECT quantilesDDStateIf(0.003, 0.5, 0.9, 0.95, 0.99)(toFloat64(0), 0) AS initial) AS nothing
