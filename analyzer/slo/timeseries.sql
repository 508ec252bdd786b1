-- Requests by step of started_at and what became of them, by the longest exposed phase of those that missed.
-- phase: '' for requests that did not miss; decode when only TPOT missed; unknown when the request has no timeline.
SELECT
    intDiv(started_ns, {step_ns:Int64}) AS step,
    multiIf(
        ifNull(judged.met, 1) = 1, '',
        met_ttft = 1, 'decode',
        empty(exposed_ns), 'unknown',
        {ttft_parts:Array(String)}[indexOf(exposed_ns, arrayMax(exposed_ns))]
    ) AS phase,
    cause,
    count() AS requests,
    countIf(judged.evaluated) AS evaluated,
    countIf(account = 'met') AS met,
    countIf(account = 'missed') AS missed
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
GROUP BY step, phase, cause
ORDER BY step
