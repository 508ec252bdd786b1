-- One side of a comparison in a single row: what became of its requests, who served them, when the first and the last began.
SELECT
    count() AS total,
    countIf(judged.evaluated) AS evaluated,
    countIf(account = 'met') AS met,
    countIf(account = 'missed') AS missed,
    countIf(outcome = 'rejected') AS rejected,
    countIf(judged.evaluated AND NOT judged.answered AND outcome != 'rejected') AS errored,
    countIf(account = 'cancelled') AS cancelled,
    countIf(account = 'invalid') AS invalid,
    countIf(account = 'incomplete') AS incomplete,
    min(started_ns) AS first_ns,
    max(started_ns) AS last_ns,
    groupUniqArray(10)(toString(judged.model)) AS models,
    avgOrNull(judged.output_tokens) AS mean_output_tokens,
    groupUniqArrayArray([prefill_worker, decode_worker]) AS workers
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
