-- What became of the requests of a window, by objective and by each label on its own, with tokens, hand-offs and workers.
-- Counted finely once, then added up per label: ('all', '') is every request. key: '' for requests without the label.
-- moved_bytes: KV that left for another worker, where the hand-off says how much (shared memory is no network);
-- unsized: requests whose hand-off does not, or failed on the way; within: requests that stayed on one worker.
SELECT
    objective, label.1 AS by, label.2 AS key,
    sum(f.total) AS total, sum(f.evaluated) AS evaluated, sum(f.met) AS met, sum(f.missed) AS missed, sum(f.rejected) AS rejected,
    sum(f.errored) AS errored, sum(f.cancelled) AS cancelled, sum(f.invalid) AS invalid, sum(f.incomplete) AS incomplete,
    sum(f.met_ttft) AS met_ttft, sum(f.met_tpot) AS met_tpot, sum(f.answered) AS answered,
    sum(f.input_tokens) AS input_tokens, sum(f.output_tokens) AS output_tokens, sum(f.uncounted_input) AS uncounted_input,
    sum(f.uncounted_output) AS uncounted_output, sum(f.moved_bytes) AS moved_bytes, sum(f.sized) AS sized, sum(f.unsized) AS unsized,
    sum(f.within) AS within, groupUniqArrayArray(f.workers) AS workers
FROM
(
    SELECT
        objective, judged.model AS model, judged.tenant AS tenant, judged.route AS route, judged.cohort AS cohort, input_bucket, output_bucket,
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
        countIf(judged.answered AND isNull(judged.output_tokens)) AS uncounted_output,
        sum(sent.bytes) AS moved_bytes,
        countIf(sent.sized > 0) AS sized,
        countIf(sent.unsized > 0
            OR (sent.sized = 0 AND prefill_worker != '' AND decode_worker != '' AND prefill_worker != decode_worker AND NOT sent.none)) AS unsized,
        countIf(prefill_worker != '' AND prefill_worker = decode_worker AND sent.sized = 0 AND sent.unsized = 0) AS within,
        groupUniqArrayArray([prefill_worker, decode_worker]) AS workers
    FROM judged_requests(
        from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
        cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
        objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
        objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
        objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
    LEFT JOIN network_bytes(from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}) AS sent ON sent.request_key = judged.request_key
    GROUP BY objective, model, tenant, route, cohort, input_bucket, output_bucket
) AS f
ARRAY JOIN [('all', ''), ('model', toString(f.model)), ('tenant', toString(f.tenant)), ('route', toString(f.route)), ('cohort', toString(f.cohort)),
    ('input_bucket', f.input_bucket), ('output_bucket', f.output_bucket)] AS label
GROUP BY objective, by, key
