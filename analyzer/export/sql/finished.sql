-- What became of the requests finished in (after, upto] of the ingest sequence, by objective (1-based index) and model. a_miss: key of one that missed.
SELECT
    objective,
    model,
    countIf(account = 'met') AS met,
    countIf(account = 'missed') AS missed,
    countIf(account = 'cancelled') AS cancelled,
    countIf(account = 'invalid') AS invalid,
    countIf(judged.met_ttft = 0) AS missed_ttft,
    countIf(judged.met_tpot = 0) AS missed_tpot,
    lower(hex(anyIf(request_key, account = 'missed'))) AS a_miss
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = '', tenant = '', route = '', cohort = '', pool = '', worker = '',
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
WHERE (first_bucket, request_key) IN (SELECT first_bucket, request_key FROM requests WHERE finalized > {after:UInt64} AND finalized <= {upto:UInt64})
GROUP BY objective, model
