-- One page of requests, after (after_value, after_key) in descending order: keys and judgement. position is what the page is ordered by.
SELECT
    lower(hex(request_key)) AS key,
    toUnixTimestamp(first_bucket) AS bucket,
    objective, met_ttft, met_tpot, met, cause,
    if({order:String} = 'slowest', ifNull(ttft_ns, -1), started_ns) AS position
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)})
WHERE ({outcome:String} = '' OR outcome = {outcome:String})
    AND ({account:String} = '' OR account = {account:String})
    AND ({cause:String} = '' OR cause = {cause:String})
    AND (position, request_key) < ({after_value:Int64}, toFixedString(unhex({after_key:String}), 16))
ORDER BY position DESC, request_key DESC
LIMIT {limit:UInt32}
