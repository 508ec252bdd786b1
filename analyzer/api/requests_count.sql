-- How many requests match.
SELECT count() AS total
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)})
WHERE ({outcome:String} = '' OR outcome = {outcome:String})
    AND ({account:String} = '' OR account = {account:String})
    AND ({cause:String} = '' OR cause = {cause:String})
