-- The objectives in force as arguments of judged_requests; without any, the documented default: 2 s to the first token, 10 tokens a second.
SELECT if(count() = 0,
    'objective_models = [''''], objective_routes = [''''], objective_tenants = [''''], objective_buckets = [''''], objective_ttft_ns = [2000000000], objective_tpot_ns = [100000000]',
    concat('objective_models = ', toString(groupArray(model)), ', objective_routes = ', toString(groupArray(route)),
        ', objective_tenants = ', toString(groupArray(tenant)), ', objective_buckets = ', toString(groupArray(input_bucket)),
        ', objective_ttft_ns = ', toString(groupArray(toInt64(round(ttft_seconds * 1000000000)))),
        ', objective_tpot_ns = ', toString(groupArray(tpot_seconds * 1000000000)))) AS arguments
FROM (SELECT * FROM current_objectives ORDER BY position)
