-- What a plan replays and is calibrated from: requests of a window in order of arrival, one row each.
-- Instants are seconds from started_ns, durations seconds; nan: not known; an empty worker: not named.
SELECT
    started_ns,
    CAST(outcome, 'String') AS outcome,
    ifNull(toFloat64(input_tokens), nan) AS prompt,
    ifNull(toFloat64(output_tokens), nan) AS output,
    ifNull(toFloat64(cached_tokens), nan) AS cached,
    ifNull(toFloat64(ttft_ns) / 1e9, nan) AS ttft,
    ifNull(tpot_ns / 1e9, nan) AS tpot,
    toUInt8(censored) AS censored,
    toUInt8(evaluated) AS evaluated,
    toUInt8(ifNull(met, 0)) AS met,
    toUInt8(attempts) AS attempts,
    -- a colocated worker is named as the decode worker alone: its prompt phase shows that it computed the prompt too
    if(CAST(prefill_worker, 'String') = '' AND isFinite(prefill_from), CAST(decode_worker, 'String'), CAST(prefill_worker, 'String')) AS prompt_worker,
    CAST(decode_worker, 'String') AS stream_worker,
    if(empty(exposed_ns), nan, toFloat64(exposed_ns[1] + exposed_ns[2]) / 1e9) AS front,
    if(empty(phase_from_ns) OR phase_from_ns[4] = -9223372036854775808, nan, toFloat64(phase_from_ns[4]) / 1e9) AS prefill_from,
    if(empty(phase_until_ns) OR phase_until_ns[4] = -9223372036854775808, nan, toFloat64(phase_until_ns[4]) / 1e9) AS prefill_until
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)})
ORDER BY started_ns, request_key
LIMIT {most:UInt64}
