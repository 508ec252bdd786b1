-- Evaluated and missed requests by objective and by the shortest of the look-back windows that holds them.
-- window_starts: Unix nanoseconds, latest first; a row counts once, in the first window it fits, so sums are cumulative.
SELECT
    objective,
    arrayFirstIndex(start -> started_ns >= start, {window_starts:Array(Int64)}) AS window,
    countIf(judged.evaluated) AS evaluated,
    countIf(account = 'missed') AS missed
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
GROUP BY objective, window
