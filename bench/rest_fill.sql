-- Answered requests spread over a time: three models, two tenants, eight phases with intervals, one in twenty not answered.
INSERT INTO requests (request_key, first_bucket, version, request_id, trace_id, system, model, tenant, route, prefill_worker, decode_worker,
    started_at, ended_at, outcome, complete, attempts, input_tokens, output_tokens, cached_tokens, first_token_at, last_token_at, ttft_ns, ttft_source,
    ttft_uncertainty_ns, tpot_ns, e2e_ns, exposed_ns, exposed_decode_ns, phase_ns, intervals, spans, joined_by)
WITH
    sipHash64(number) AS noise,
    {start:UInt32} * 1000000000 + toUInt64(number * ({seconds:UInt32} * 1e9 / {count:UInt32})) AS start_ns,
    arrayMap(i -> toUInt64(1000000 + bitAnd(bitShiftRight(noise, i * 5), 31) * 8000000), range(8)) AS parts,
    toInt64(arraySum(parts)) AS ttft,
    toUInt32(16 + noise % 500) AS tokens,
    2000000 + noise % 90000000 AS step_ns
SELECT
    sipHash128(number), toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')), number + 1, concat('request-', toString(number)), sipHash128(number + 1),
    'pd', ['llama-8b', 'llama-70b', 'qwen-32b'][1 + number % 3], ['acme', 'globex'][1 + number % 2], 'chat',
    concat('prefill-', toString(noise % 4)), concat('decode-', toString(noise % 8)),
    fromUnixTimestamp64Nano(toInt64(start_ns), 'UTC'), fromUnixTimestamp64Nano(toInt64(start_ns + ttft + tokens * step_ns), 'UTC'),
    if(number % 20 = 0, 'error', 'ok'), 1, 1, toUInt32(noise % 20000), tokens, 0,
    fromUnixTimestamp64Nano(toInt64(start_ns + ttft), 'UTC'), fromUnixTimestamp64Nano(toInt64(start_ns + ttft + tokens * step_ns), 'UTC'), ttft, 'router_first_token',
    0, toFloat64(step_ns), toInt64(ttft + tokens * step_ns), arrayConcat(parts, [0, 0, 0, 0]), [toUInt64(tokens * step_ns), 0, 0, 0, 0, 0], arrayConcat(parts, [0, 0, 0]),
    arrayMap((p, i) -> (['router_queue', 'tokenize', 'prefill_queue', 'prefill_compute', 'kv_publish', 'kv_transfer', 'decode_queue', 'kv_import'][i], [],
        toInt64(start_ns), toInt64(start_ns + p), 'prefill-0', 1, 'observed', ''), parts, arrayEnumerate(parts)),
    9, ['trace_id']
FROM numbers({count:UInt32})
