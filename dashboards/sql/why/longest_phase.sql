-- Missed requests by the part of TTFT that held them longest; decode: only TPOT was missed. As by_phase of GET /slo/timeseries.
SELECT time, ['router_queue', 'tokenize', 'prefill_queue', 'prefill_compute', 'kv_publish', 'kv_transfer', 'decode_queue', 'kv_import', 'first_decode_step', 'network_streaming', 'retry', 'unattributed', 'decode', 'unknown'][longest] AS part, sum(misses) AS requests
FROM
(
    SELECT
        $__timeInterval(fromUnixTimestamp64Nano(started_ns, 'UTC')) AS time,
        multiIf(met_ttft = 1, 13, empty(exposed_ns), 14, indexOf(exposed_ns, arrayMax(exposed_ns))) AS longest,
        count() AS misses
    FROM judged_requests(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000,
        model = '', tenant = '', route = '', cohort = '', pool = '', worker = '', ${objectives:raw}) AS r
    WHERE account = 'missed'
        AND $__conditionalAll(model IN (${model:singlequote}), $model)
        AND $__conditionalAll(tenant IN (${tenant:singlequote}), $tenant)
        AND $__conditionalAll(route IN (${route:singlequote}), $route)
        AND $__conditionalAll(cohort IN (${cohort:singlequote}), $cohort)
        AND $__conditionalAll(input_bucket IN (${input_bucket:singlequote}), $input_bucket)
        AND $__conditionalAll(hasAny([toString(prefill_worker), toString(decode_worker)], [${worker:singlequote}]), $worker)
        AND $__conditionalAll(hasAny([if(prefill_worker = '', '', 'prefill'), if(decode_worker = '', '', 'decode')], [${pool:singlequote}]), $pool)
        AND $__conditionalAll([${objective_names:raw}][objective] IN (${objective:singlequote}), $objective)
    GROUP BY time, longest
)
GROUP BY time, part
ORDER BY time, part
