-- The slowest requests to their first token, censored ones by their age.
SELECT
    lower(hex(request_key)) AS key, request_id, fromUnixTimestamp64Nano(started_ns, 'UTC') AS started,
    [${objective_names:raw}][objective] AS judged_by, account, toString(outcome) AS ended,
    ttft_ns / 1e9 AS ttft, tpot_ns / 1e9 AS tpot, input_tokens,
    if(empty(exposed_ns), '', ['router_queue', 'tokenize', 'prefill_queue', 'prefill_compute', 'kv_publish', 'kv_transfer', 'decode_queue', 'kv_import', 'first_decode_step', 'network_streaming', 'retry', 'unattributed'][indexOf(exposed_ns, arrayMax(exposed_ns))]) AS longest,
    toString(prefill_worker) AS prefill, toString(decode_worker) AS decode
FROM judged_requests(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000,
    model = '', tenant = '', route = '', cohort = '', pool = '', worker = '', ${objectives:raw}) AS r
WHERE isNotNull(ttft_ns)
    AND $__conditionalAll(model IN (${model:singlequote}), $model)
    AND $__conditionalAll(tenant IN (${tenant:singlequote}), $tenant)
    AND $__conditionalAll(route IN (${route:singlequote}), $route)
    AND $__conditionalAll(cohort IN (${cohort:singlequote}), $cohort)
    AND $__conditionalAll(input_bucket IN (${input_bucket:singlequote}), $input_bucket)
    AND $__conditionalAll(hasAny([toString(prefill_worker), toString(decode_worker)], [${worker:singlequote}]), $worker)
    AND $__conditionalAll(hasAny([if(prefill_worker = '', '', 'prefill'), if(decode_worker = '', '', 'decode')], [${pool:singlequote}]), $pool)
    AND $__conditionalAll([${objective_names:raw}][objective] IN (${objective:singlequote}), $objective)
ORDER BY ttft_ns DESC, request_key DESC
LIMIT 50
