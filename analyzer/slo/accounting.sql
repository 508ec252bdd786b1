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
    ifNull(sum(judged.input_tokens), 0) AS input_tokens,
    ifNull(sum(judged.output_tokens), 0) AS output_tokens,
    countIf(judged.answered AND isNull(judged.input_tokens)) AS uncounted_input,
    countIf(judged.answered AND isNull(judged.output_tokens)) AS uncounted_output,
    sum(sent.bytes) AS moved_bytes,
    countIf(sent.sized > 0) AS sized,
    countIf(sent.unsized > 0
        OR (sent.sized = 0 AND prefill_worker != '' AND decode_worker != '' AND prefill_worker != decode_worker AND NOT sent.none)) AS unsized,
    countIf(prefill_worker != '' AND prefill_worker = decode_worker AND sent.sized = 0 AND sent.unsized = 0) AS within,
    groupUniqArrayArray([prefill_worker, decode_worker]) AS workers
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
LEFT JOIN network_bytes(from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}) AS sent ON sent.request_key = judged.request_key
GROUP BY objective
