-- Percentiles of TTFT and TPOT in seconds by prompt length. As GET /latency?by=input_bucket.
SELECT
    if(input_bucket = '', 'unknown', input_bucket) AS prompt,
    countIf(isNotNull(ttft_ns)) AS requests,
    ifNotFinite(quantilesExactInclusive(0.5, 0.95, 0.99)(ttft_ns / 1e9)[1], NULL) AS ttft_p50, ifNotFinite(quantilesExactInclusive(0.5, 0.95, 0.99)(ttft_ns / 1e9)[2], NULL) AS ttft_p95, ifNotFinite(quantilesExactInclusive(0.5, 0.95, 0.99)(ttft_ns / 1e9)[3], NULL) AS ttft_p99,
    ifNotFinite(quantilesExactInclusive(0.5, 0.95, 0.99)(tpot_ns / 1e9)[1], NULL) AS tpot_p50, ifNotFinite(quantilesExactInclusive(0.5, 0.95, 0.99)(tpot_ns / 1e9)[2], NULL) AS tpot_p95, ifNotFinite(quantilesExactInclusive(0.5, 0.95, 0.99)(tpot_ns / 1e9)[3], NULL) AS tpot_p99
FROM judged_requests(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000,
    model = '', tenant = '', route = '', cohort = '', pool = '', worker = '', ${objectives:raw}) AS r
WHERE $__conditionalAll(model IN (${model:singlequote}), $model)
    AND $__conditionalAll(tenant IN (${tenant:singlequote}), $tenant)
    AND $__conditionalAll(route IN (${route:singlequote}), $route)
    AND $__conditionalAll(cohort IN (${cohort:singlequote}), $cohort)
    AND $__conditionalAll(input_bucket IN (${input_bucket:singlequote}), $input_bucket)
    AND $__conditionalAll(hasAny([toString(prefill_worker), toString(decode_worker)], [${worker:singlequote}]), $worker)
    AND $__conditionalAll(hasAny([if(prefill_worker = '', '', 'prefill'), if(decode_worker = '', '', 'decode')], [${pool:singlequote}]), $pool)
    AND $__conditionalAll([${objective_names:raw}][objective] IN (${objective:singlequote}), $objective)
GROUP BY prompt
ORDER BY prompt
