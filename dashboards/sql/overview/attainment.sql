-- Evaluated requests that met, as fractions: both objectives, TTFT alone, TPOT alone. As GET /slo.
SELECT
    if(countIf(r.evaluated) = 0, NULL, countIf(account = 'met') / countIf(r.evaluated)) AS joint,
    if(countIf(r.evaluated) = 0, NULL, countIf(r.met_ttft = 1) / countIf(r.evaluated)) AS ttft,
    if(countIf(r.evaluated) = 0, NULL, countIf(r.met_tpot = 1) / countIf(r.evaluated)) AS tpot
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
