-- What became of the requests of the time range. As GET /slo.
SELECT
    count() AS total, countIf(r.evaluated) AS evaluated, countIf(account = 'met') AS met, countIf(account = 'missed') AS missed,
    countIf(account = 'cancelled') AS cancelled, countIf(account = 'invalid') AS invalid, countIf(account = 'incomplete') AS incomplete
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
