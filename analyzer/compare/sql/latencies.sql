-- Percentiles (linear between closest ranks, nanoseconds) of TTFT and TPOT of one side's evaluated requests, by prompt bucket.
-- A censored TTFT counts as the age it had.
SELECT
    input_bucket AS bucket,
    quantilesExactInclusiveIf(0.5, 0.95, 0.99)(assumeNotNull(ttft_ns), isNotNull(ttft_ns)) AS ttft,
    quantilesExactInclusiveIf(0.5, 0.95, 0.99)(assumeNotNull(tpot_ns), isNotNull(tpot_ns)) AS tpot,
    countIf(isNotNull(ttft_ns)) AS with_ttft,
    countIf(isNotNull(tpot_ns)) AS with_tpot
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
WHERE judged.evaluated
GROUP BY bucket
