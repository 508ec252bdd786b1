-- Cohorts side by side: requests, attainment, requests a second that met, and percentiles in seconds.
SELECT
    if(cohort = '', 'no cohort', toString(cohort)) AS name,
    countIf(r.evaluated) AS judged,
    if(judged = 0, NULL, countIf(account = 'met') / judged) AS attainment,
    countIf(account = 'met') / greatest(1, toUnixTimestamp($__toTime) - toUnixTimestamp($__fromTime)) AS goodput,
    ifNotFinite(quantiles(0.5, 0.95)(ttft_ns / 1e9)[1], NULL) AS ttft_p50, ifNotFinite(quantiles(0.5, 0.95)(ttft_ns / 1e9)[2], NULL) AS ttft_p95,
    ifNotFinite(quantiles(0.5, 0.95)(tpot_ns / 1e9)[1], NULL) AS tpot_p50, ifNotFinite(quantiles(0.5, 0.95)(tpot_ns / 1e9)[2], NULL) AS tpot_p95
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
GROUP BY name
ORDER BY judged DESC
LIMIT 50
