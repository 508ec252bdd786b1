-- Percentiles (linear between closest ranks) of one duration in nanoseconds, by one label.
-- A censored TTFT counts as the age it had. A phase means its exposed time, raw its own duration; requests without it count as 0.
SELECT
    key,
    count() AS requests,
    quantilesExactInclusive(0.5, 0.9, 0.95, 0.99)(assumeNotNull(value)) AS quantiles,
    max(value) AS longest
FROM
(
    SELECT
        arrayJoin(if({by:String} = 'worker', arrayDistinct(arrayFilter(w -> w != '', [toString(prefill_worker), toString(decode_worker)])), [
            if({by:String} = 'all', 'all',
            if({by:String} = 'model', toString(model),
            if({by:String} = 'tenant', toString(tenant),
            if({by:String} = 'route', toString(route),
            if({by:String} = 'cohort', toString(cohort),
            if({by:String} = 'input_bucket', input_bucket,
            if({by:String} = 'output_bucket', output_bucket,
            if({by:String} = 'prefill_worker', toString(prefill_worker), toString(decode_worker)))))))))])) AS key,
        if({metric:String} = 'ttft', toFloat64(ttft_ns),
        if({metric:String} = 'tpot', tpot_ns,
        if({metric:String} = 'e2e', toFloat64(e2e_ns),
        if({metric:String} = 'raw_phase', toNullable(toFloat64(phase_ns[{phase_index:UInt8}])),
        if(empty(exposed_ns), NULL,
        if({metric:String} = 'decode', if(empty(exposed_decode_ns), NULL, toNullable(toFloat64(arraySum(exposed_decode_ns)))),
            toNullable(toFloat64(exposed_ns[{phase_index:UInt8}])))))))) AS value
    FROM judged_requests(
        from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
        cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
        objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
        objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
        objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)})
)
WHERE isNotNull(value)
GROUP BY key
ORDER BY requests DESC, key
LIMIT 1000
