-- What became of the requests of a window by how many were under way as each one started (itself included), and by look-back window.
-- Under way: requests of the scope's models, whatever their other labels, that started since context_ns and had not ended
-- (of only_tenant alone, where that is given).
-- A request that ends in the very nanosecond has ended. bucket: number of the bucket, by its lower edges.
SELECT
    objective,
    arrayCount(edge -> under_way >= edge, {edges:Array(Int64)}) AS bucket,
    arrayFirstIndex(start -> started_ns >= start, {window_starts:Array(Int64)}) AS window,
    count() AS total,
    countIf(judged.evaluated) AS evaluated,
    countIf(account = 'met') AS met,
    countIf(account = 'missed') AS missed,
    countIf(outcome = 'rejected') AS rejected,
    countIf(judged.evaluated AND NOT judged.answered AND outcome != 'rejected') AS errored,
    countIf(account = 'cancelled') AS cancelled,
    countIf(account = 'invalid') AS invalid,
    countIf(account = 'incomplete') AS incomplete,
    countIf(judged.met_ttft = 1) AS met_ttft,
    countIf(judged.met_tpot = 1) AS met_tpot,
    countIf(judged.answered) AS answered,
    ifNull(sum(judged.input_tokens), 0) AS input_tokens,
    ifNull(sum(judged.output_tokens), 0) AS output_tokens,
    countIf(judged.answered AND isNull(judged.input_tokens)) AS uncounted_input,
    countIf(judged.answered AND isNull(judged.output_tokens)) AS uncounted_output
FROM
(
    SELECT
        * EXCEPT (event),
        event.1 AS starts,
        greatest(1, sum(event.1 * 2 - 1) OVER (ORDER BY event.2, event.1, request_key ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) AS under_way
    FROM
    (
        SELECT
            request_key, started_ns, objective, evaluated, account, outcome, answered, met_ttft, met_tpot, input_tokens, output_tokens,
            started_ns >= {from_ns:Int64}
                AND ({tenant:String} = '' OR tenant = {tenant:String})
                AND ({route:String} = '' OR route = {route:String})
                AND ({cohort:String} = '' OR cohort = {cohort:String})
                AND ({worker:String} = '' OR prefill_worker = {worker:String} OR decode_worker = {worker:String})
                AND ({pool:String} IN ('', 'router')
                    OR ({pool:String} = 'prefill' AND prefill_worker != '')
                    OR ({pool:String} = 'decode' AND decode_worker != '')
                    OR ({pool:String} = 'colocated' AND prefill_worker != '' AND prefill_worker = decode_worker)) AS asked,
            arrayJoin([(toInt64(1), started_ns), (toInt64(0), ifNull(toUnixTimestamp64Nano(ended_at), 9223372036854775807))]) AS event
        FROM judged_requests(
            from_ns = {context_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {only_tenant:String}, route = '', cohort = '', pool = '', worker = '',
            objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
            objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
            objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)})
    )
) AS judged
WHERE starts AND asked
GROUP BY objective, bucket, window
