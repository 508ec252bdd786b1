-- One side of a comparison, counted by prompt bucket, by turn and by block of time: as many rows as blocks × buckets × 3 at most.
-- turn: 0 without a conversation, 1 for the first of a conversation since turns_from_ns, 2 for later ones. block: 0-based.
SELECT
    input_bucket AS bucket,
    multiIf(judged.conversation_id = '', 0, started_ns <= begun.at_ns, 1, 2) AS turn,
    intDiv(started_ns - {first_ns:Int64}, intDiv({last_ns:Int64} - {first_ns:Int64}, {blocks:Int64}) + 1) AS block,
    count() AS total,
    countIf(judged.evaluated) AS evaluated,
    countIf(judged.met_ttft = 1) AS met_ttft,
    countIf(judged.met_tpot = 1) AS met_tpot,
    countIf(account = 'met') AS met,
    ifNull(sum(judged.output_tokens), 0) AS output_tokens,
    sumIf(ifNull(judged.input_tokens, 0), isNotNull(judged.cached_tokens)) AS prompt_tokens,
    ifNull(sum(judged.cached_tokens), 0) AS cached_tokens,
    countIf(judged.local_prompt_tokens > 0 AND judged.local_prompt_reason = 'append') AS appended,
    countIf(judged.local_prompt_tokens > 0 AND judged.local_prompt_reason != 'append') AS recomputed
FROM judged_requests(
    from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, model = {model:String}, tenant = {tenant:String}, route = {route:String},
    cohort = {cohort:String}, pool = {pool:String}, worker = {worker:String},
    objective_models = {objective_models:Array(String)}, objective_routes = {objective_routes:Array(String)},
    objective_tenants = {objective_tenants:Array(String)}, objective_buckets = {objective_buckets:Array(String)},
    objective_ttft_ns = {objective_ttft_ns:Array(Int64)}, objective_tpot_ns = {objective_tpot_ns:Array(Float64)}) AS judged
LEFT JOIN
(
    SELECT conversation_id, min(toUnixTimestamp64Nano(started_at)) AS at_ns
    FROM requests FINAL
    WHERE tombstone = 0 AND conversation_id != ''
        AND started_at >= fromUnixTimestamp64Nano({turns_from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
    GROUP BY conversation_id
) AS begun ON begun.conversation_id = judged.conversation_id
GROUP BY bucket, turn, block
