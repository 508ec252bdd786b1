-- Error budget and burn rates by objective, all windows ending with the time range. As GET /slo: 1 burns the budget in just its period.
-- Periods of up to 90 days are read.
SELECT
    [${objective_names:raw}][objective] AS name,
    any(target) AS target_ratio,
    any(period_days) AS period,
    round(1 - countIf(account = 'missed' AND started_ns >= until_ns - period_days * 86400000000000)
        / nullIf(countIf(r.evaluated AND started_ns >= until_ns - period_days * 86400000000000), 0) / (1 - any(target)), 9) AS budget_left,
    round(countIf(account = 'missed' AND started_ns >= until_ns - 3600000000000) / nullIf(countIf(r.evaluated AND started_ns >= until_ns - 3600000000000), 0) / (1 - any(target)), 9) AS burn_1h,
    round(countIf(account = 'missed' AND started_ns >= until_ns - 21600000000000) / nullIf(countIf(r.evaluated AND started_ns >= until_ns - 21600000000000), 0) / (1 - any(target)), 9) AS burn_6h,
    round(countIf(account = 'missed' AND started_ns >= until_ns - 86400000000000) / nullIf(countIf(r.evaluated AND started_ns >= until_ns - 86400000000000), 0) / (1 - any(target)), 9) AS burn_1d,
    round(countIf(account = 'missed' AND started_ns >= until_ns - 259200000000000) / nullIf(countIf(r.evaluated AND started_ns >= until_ns - 259200000000000), 0) / (1 - any(target)), 9) AS burn_3d
FROM
(
    SELECT toInt64(toUnixTimestamp($__toTime)) * 1000000000 AS until_ns, objective, account, r.evaluated AS evaluated, started_ns
    FROM judged_requests(from_ns = (toUnixTimestamp($__toTime) - 7776000) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000,
        model = '', tenant = '', route = '', cohort = '', pool = '', worker = '', ${objectives:raw}) AS r
    WHERE $__conditionalAll(model IN (${model:singlequote}), $model)
        AND $__conditionalAll(tenant IN (${tenant:singlequote}), $tenant)
        AND $__conditionalAll(route IN (${route:singlequote}), $route)
        AND $__conditionalAll(cohort IN (${cohort:singlequote}), $cohort)
        AND $__conditionalAll(input_bucket IN (${input_bucket:singlequote}), $input_bucket)
        AND $__conditionalAll(hasAny([toString(prefill_worker), toString(decode_worker)], [${worker:singlequote}]), $worker)
        AND $__conditionalAll(hasAny([if(prefill_worker = '', '', 'prefill'), if(decode_worker = '', '', 'decode')], [${pool:singlequote}]), $pool)
        AND $__conditionalAll([${objective_names:raw}][objective] IN (${objective:singlequote}), $objective)
) AS r
INNER JOIN current_objectives AS o ON o.name = [${objective_names:raw}][objective]
GROUP BY objective
ORDER BY objective
