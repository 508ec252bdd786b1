-- What verdicts read of requests, one row each; the window is widened by the caller, `inside` marks the requests asked for.
-- Columns are read from `j`: aliases of the same names are hashes.
-- Durations are seconds, instants seconds from the request's start; nan: not known. Names are hashes, see names.sql. Arrays are as they are
-- stored, nanoseconds, empty where there is no timeline: the reader turns them round for less.
SELECT
    reinterpretAsUInt64(substring(CAST(request_key, 'String'), 1, 8)) AS key_a,
    reinterpretAsUInt64(substring(CAST(request_key, 'String'), 9, 8)) AS key_b,
    started_ns,
    toUnixTimestamp(first_bucket) AS first_bucket,
    CAST(started_ns >= {inside_from_ns:Int64}
        AND ({only_model:String} = '' OR j.model = {only_model:String})
        AND ({only_tenant:String} = '' OR j.tenant = {only_tenant:String})
        AND ({only_route:String} = '' OR j.route = {only_route:String})
        AND ({only_cohort:String} = '' OR j.cohort = {only_cohort:String})
        AND ({only_worker:String} = '' OR j.prefill_worker = {only_worker:String} OR j.decode_worker = {only_worker:String})
        AND ({only_pool:String} IN ('', 'router')
            OR ({only_pool:String} = 'prefill' AND j.prefill_worker != '')
            OR ({only_pool:String} = 'decode' AND j.decode_worker != '')
            OR ({only_pool:String} = 'colocated' AND j.prefill_worker != '' AND j.prefill_worker = j.decode_worker)), 'UInt8') AS inside,
    ifNull(toFloat64(toUnixTimestamp64Nano(ended_at) - started_ns) / 1e9, nan) AS lasted,
    toUInt8(objective - 1) AS objective,
    toUInt8(transform(CAST(account, 'String'), ['met', 'missed', 'cancelled', 'invalid', 'incomplete'], [0, 1, 2, 3, 4], 4)) AS account,
    toUInt8(transform(CAST(outcome, 'String'), ['ok', 'cancelled', 'interrupted', 'rejected', 'invalid', 'timeout', 'error'], [1, 2, 3, 4, 5, 6, 7], 0)) AS outcome,
    CAST(answered, 'UInt8') AS answered,
    toUInt8(censored) AS censored,
    toUInt8(attempts) AS attempts,
    ifNull(toFloat64(ttft_ns) / 1e9, nan) AS ttft,
    ifNull(tpot_ns / 1e9, nan) AS tpot,
    ifNull(toFloat64(ttft_uncertainty_ns) / 1e9, nan) AS ttft_uncertainty,
    exposed_ns,
    exposed_decode_ns,
    phase_ns,
    phase_from_ns,
    phase_until_ns,
    toFloat64(preempted_ns) / 1e9 AS preempted,
    ifNull(toFloat64(stalled_ns) / 1e9, nan) AS stalled,
    toFloat64(arraySum(c -> c.2, composites)) / 1e9 AS composite,
    -- bits of the phases that the longest of them covers
    toUInt16(arraySum(arrayMap(p -> bitShiftLeft(toUInt16(1), indexOf(['router_queue', 'tokenize', 'prefill_queue', 'prefill_compute', 'kv_publish', 'kv_transfer',
        'decode_queue', 'kv_import', 'first_decode_step', 'network_streaming', 'decode'], p) - 1), arraySort(c -> -c.2, composites)[1].1))) AS within,
    if(CAST(prefill_worker, 'String') = '', 0, cityHash64(CAST(prefill_worker, 'String'))) AS prefill_worker,
    if(CAST(decode_worker, 'String') = '', 0, cityHash64(CAST(decode_worker, 'String'))) AS decode_worker,
    if(request_id = '', 0, cityHash64(request_id)) AS request_id,
    if(conversation_id = '', 0, cityHash64(conversation_id)) AS conversation,
    cityHash64(CAST(tenant, 'String')) AS tenant,
    cityHash64(CAST(route, 'String')) AS route,
    cityHash64(CAST(cohort, 'String')) AS cohort,
    cityHash64(CAST(model, 'String')) AS model,
    cityHash64(CAST(system, 'String')) AS system,
    ifNull(toFloat64(input_tokens), nan) AS input_tokens,
    ifNull(toFloat64(output_tokens), nan) AS output_tokens,
    ifNull(toFloat64(cached_tokens), nan) AS cached_tokens,
    ifNull(toFloat64(local_prompt_tokens), nan) AS local_prompt_tokens,
    toUInt8(CAST(local_prompt_reason, 'String') = 'append') AS appended,
    toUInt32(spans) AS spans,
    toUInt32(duplicate_spans) AS duplicate_spans,
    toUInt32(late_spans) AS late_spans,
    toUInt8(has(joined_by, 'request_id')) AS joined_by_id,
    toUInt8(has(notes, 'success_status_masks_failure')) AS masked,
    toUInt8(has(notes, 'impossible_duration')) AS impossible
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = '', route = '', cohort = '', pool = '', worker = '',
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS j
WHERE empty({models:Array(String)}) OR has({models:Array(String)}, CAST(j.model, 'String'))
