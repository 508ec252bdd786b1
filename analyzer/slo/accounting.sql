-- What became of the requests of a window, by objective (1-based index).
SELECT
    objective,
    count() AS total,
    countIf(judged.evaluated) AS evaluated,
    countIf(account = 'met') AS met,
    countIf(account = 'missed') AS missed,
    countIf(outcome = 'rejected') AS rejected,
    countIf(judged.evaluated AND NOT judged.answered AND outcome != 'rejected') AS errored,
    countIf(account = 'cancelled') AS cancelled,
    countIf(account = 'invalid') AS invalid,
    countIf(account = 'incomplete') AS incomplete,
    countIf(judged.met_ttft = 1) AS met_ttft,
    countIf(judged.met_tpot = 1) AS met_tpot,
    countIf(judged.answered) AS answered,
    sum(judged.output_tokens) AS output_tokens,
    groupUniqArrayArray([prefill_worker, decode_worker]) AS workers
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
GROUP BY objective
