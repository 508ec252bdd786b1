-- Evaluated and missed requests by objective, by each label on its own, and by the shortest of the look-back windows that holds them.
-- window_starts: Unix nanoseconds, latest first; a row counts once, in the first window it fits, so sums are cumulative.
SELECT objective, window, label.1 AS by, label.2 AS key, sum(f.evaluated) AS evaluated, sum(f.missed) AS missed
FROM
(
    SELECT
        objective, model, tenant, route, cohort, input_bucket, output_bucket,
        arrayFirstIndex(start -> started_ns >= start, {window_starts:Array(Int64)}) AS window,
        countIf(judged.evaluated) AS evaluated,
        countIf(account = 'missed') AS missed
    FROM judged_requests(
        from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
        cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
        objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
        objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
        objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
    GROUP BY objective, model, tenant, route, cohort, input_bucket, output_bucket, window
) AS f
ARRAY JOIN [('all', ''), ('model', toString(f.model)), ('tenant', toString(f.tenant)), ('route', toString(f.route)), ('cohort', toString(f.cohort)),
    ('input_bucket', f.input_bucket), ('output_bucket', f.output_bucket)] AS label
GROUP BY objective, window, by, key
