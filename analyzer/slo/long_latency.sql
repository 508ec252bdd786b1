-- Percentiles (seconds, within 1 %) over a long window, from whole minutes' sketches.
SELECT
    sum(requests) AS requests,
    quantilesDDMerge(0.003, 0.5, 0.9, 0.95, 0.99)(ttft_sketch) AS ttft, sum(ttft_count) AS ttft_count, max(ttft_max_seconds) AS ttft_max,
    quantilesDDMerge(0.003, 0.5, 0.9, 0.95, 0.99)(tpot_sketch) AS tpot, sum(tpot_count) AS tpot_count, max(tpot_max_seconds) AS tpot_max,
    quantilesDDMerge(0.003, 0.5, 0.9, 0.95, 0.99)(e2e_sketch) AS e2e, sum(e2e_count) AS e2e_count, max(e2e_max_seconds) AS e2e_max
FROM latency_minutes
WHERE minute >= toDateTime({from_s:UInt32}, 'UTC') AND minute < toDateTime({to_s:UInt32}, 'UTC')
    AND ({model:String} = '' OR model = {model:String}) AND ({tenant:String} = '' OR tenant = {tenant:String})
    AND ({route:String} = '' OR route = {route:String}) AND ({cohort:String} = '' OR cohort = {cohort:String})
