-- Counts whole minutes by objective and label, as a new version of each.
INSERT INTO objective_minutes_kept
(minute, objective, model, tenant, route, cohort, input_bucket, version, ttft_limit_seconds, tpot_limit_seconds, target, total, evaluated, met, missed,
    met_ttft, met_tpot, rejected, errored, cancelled, invalid, incomplete, answered, input_tokens, output_tokens, causes)
SELECT
    first_bucket, {objective_names:Array(String)}[objective] AS name, model, tenant, route, cohort, input_bucket, {version:UInt64},
    any({objective_ttft_ns:Array(Int64)}[objective]) / 1e9, any({objective_tpot_ns:Array(Float64)}[objective]) / 1e9, any({objective_targets:Array(Float64)}[objective]),
    count(), countIf(judged.evaluated), countIf(account = 'met'), countIf(account = 'missed'),
    countIf(judged.met_ttft = 1), countIf(judged.met_tpot = 1),
    countIf(outcome = 'rejected'), countIf(judged.evaluated AND NOT judged.answered AND outcome != 'rejected'),
    countIf(account = 'cancelled'), countIf(account = 'invalid'), countIf(account = 'incomplete'), countIf(judged.answered),
    ifNull(sum(judged.input_tokens), 0), ifNull(sum(judged.output_tokens), 0),
    sumMapIf(map(CAST(cause, 'LowCardinality(String)'), toUInt64(1)), account = 'missed')
FROM judged_requests(
    from_ns = 0, to_ns = 4102444800000000000, model = '', tenant = '', route = '', cohort = '', pool = '', worker = '',
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
WHERE first_bucket IN {minutes:Array(DateTime('UTC'))}
GROUP BY first_bucket, objective, model, tenant, route, cohort, input_bucket
UNION ALL
SELECT arrayJoin({minutes:Array(DateTime('UTC'))}), '', '', '', '', '', '', {version:UInt64}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    CAST(map(), 'Map(LowCardinality(String), UInt64)')
