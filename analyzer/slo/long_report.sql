-- What became of requests over a long window, by configured objective: counted from whole minutes, a bounded number of rows.
SELECT
    objective, ttft_limit_seconds, tpot_limit_seconds, target,
    sum(total) AS total, sum(evaluated) AS evaluated, sum(met) AS met, sum(missed) AS missed, sum(rejected) AS rejected, sum(errored) AS errored,
    sum(cancelled) AS cancelled, sum(invalid) AS invalid, sum(incomplete) AS incomplete, sum(met_ttft) AS met_ttft, sum(met_tpot) AS met_tpot,
    sum(answered) AS answered, sum(output_tokens) AS output_tokens, min(minute) AS first_minute, max(minute) AS last_minute
FROM objective_minutes
WHERE minute >= toDateTime({from_s:UInt32}, 'UTC') AND minute < toDateTime({to_s:UInt32}, 'UTC')
    AND ({model:String} = '' OR model = {model:String}) AND ({tenant:String} = '' OR tenant = {tenant:String})
    AND ({route:String} = '' OR route = {route:String}) AND ({cohort:String} = '' OR cohort = {cohort:String})
GROUP BY objective, ttft_limit_seconds, tpot_limit_seconds, target
ORDER BY objective, first_minute
