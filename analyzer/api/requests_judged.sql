-- Judgement of requests whose keys are known.
SELECT lower(hex(request_key)) AS key, toUnixTimestamp(first_bucket) AS bucket, objective, met_ttft, met_tpot, met, cause
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)})
WHERE first_bucket IN (SELECT toDateTime(arrayJoin({buckets:Array(UInt32)}), 'UTC'))
    AND request_key IN (SELECT toFixedString(unhex(arrayJoin({keys:Array(String)})), 16))
ORDER BY started_ns DESC, request_key DESC
