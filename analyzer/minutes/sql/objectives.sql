-- What became of the requests that started in [from_ns, to_ns), by minute, objective (1-based) and label. *_code: the hash by which verdicts name a label.
SELECT
    toUnixTimestamp(toStartOfMinute(fromUnixTimestamp64Nano(started_ns, 'UTC'))) AS minute, objective, model, tenant, route, cohort, input_bucket,
    any(cityHash64(CAST(model, 'String'))) AS model_code, any(cityHash64(CAST(tenant, 'String'))) AS tenant_code,
    any(cityHash64(CAST(route, 'String'))) AS route_code, any(cityHash64(CAST(cohort, 'String'))) AS cohort_code,
    count() AS total, countIf(judged.evaluated) AS evaluated, countIf(account = 'met') AS met, countIf(account = 'missed') AS missed,
    countIf(judged.met_ttft = 1) AS met_ttft, countIf(judged.met_tpot = 1) AS met_tpot,
    countIf(outcome = 'rejected') AS rejected, countIf(judged.evaluated AND NOT judged.answered AND outcome != 'rejected') AS errored,
    countIf(account = 'cancelled') AS cancelled, countIf(account = 'invalid') AS invalid, countIf(account = 'incomplete') AS incomplete,
    countIf(judged.answered) AS answered, ifNull(sum(judged.input_tokens), 0) AS input_tokens, ifNull(sum(judged.output_tokens), 0) AS output_tokens
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = '', tenant = '', route = '', cohort = '', pool = '', worker = '',
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
GROUP BY minute, objective, model, tenant, route, cohort, input_bucket
