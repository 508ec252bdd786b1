-- Misses by step, block of counted minutes, and primary cause as counted; '' where they have not been counted yet.
SELECT intDiv(started_ns, {step_ns:Int64}) AS step, intDiv(started_ns, {block_ns:Int64}) AS block, kept.cause AS cause, count() AS misses
FROM
(
    SELECT request_key, started_ns
    FROM judged_requests(
        from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
        cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
        objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
        objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
        objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)})
    WHERE account = 'missed'
) AS missed
LEFT ANY JOIN
(
    -- a request's first bucket may lie before the window it started in by as much as clocks differ
    SELECT request_key, mapKeys(causes)[1] AS cause FROM request_causes_kept FINAL
    WHERE first_bucket >= toDateTime(intDiv({from_ns:Int64}, 1000000000) - 3600, 'UTC')
        AND first_bucket < toDateTime(intDiv({to_ns:Int64}, 1000000000) + 3600, 'UTC')
    SETTINGS do_not_merge_across_partitions_select_final = 1
) AS kept ON missed.request_key = kept.request_key
GROUP BY step, block, cause
