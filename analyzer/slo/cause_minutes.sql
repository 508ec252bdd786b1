-- The causes of one minute's requests, recomputed whole: each request counts for the cause that judged_requests gives it.
-- The last branch marks a minute that has no evaluated request left.
INSERT INTO cause_minutes (minute, objective, model, tenant, route, cohort, cause, requests, would_have_met, version)
WITH judged AS
(
    SELECT {objective_names:Array(String)}[objective] AS name, model, tenant, route, cohort, cause
    FROM judged_requests(
        from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = '', tenant = '', route = '', cohort = '', pool = '', worker = '',
        objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
        objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
        objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)})
    WHERE cause != ''
)
SELECT toDateTime(intDiv({from_ns:Int64}, 1000000000), 'UTC'), name, model, tenant, route, cohort, cause, count(), 0, {version:UInt64}
FROM judged
GROUP BY name, model, tenant, route, cohort, cause
UNION ALL
SELECT toDateTime(intDiv({from_ns:Int64}, 1000000000), 'UTC'), '', '', '', '', '', '', 0, 0, {version:UInt64}
WHERE (SELECT count() FROM judged) = 0
