-- judged_requests with what verdicts read of a request as well; unused columns cost a reader nothing.
-- Assembled requests that started in [from_ns, to_ns), judged against a list of objectives passed as arrays (first match wins).
-- The one place where the convention's Accounting is computed; REST and dashboards read it.
-- An empty text parameter means "any"; an empty selector member matches everything; the list ends with a catch-all.
-- evaluated: ok with a known TTFT, or failed. failed: interrupted, timeout, error, rejected, and success that masked a failure
-- (zero output tokens, finish reason error). A failed or censored request misses both objectives whatever its latency.
-- met is null for what is not evaluated; account says why (cancelled, invalid, incomplete).
-- Token buckets: 1K is 1,024 tokens, lower edge included.
CREATE OR REPLACE VIEW judged_requests AS
SELECT
    *,
    if(evaluated, answered AND NOT censored AND ttft_ns <= {objective_ttft_ns:Array(Int64)}[objective], NULL) AS met_ttft,
    if(evaluated, answered AND ifNull(tpot_ns, 0) <= {objective_tpot_ns:Array(Float64)}[objective], NULL) AS met_tpot,
    met_ttft AND met_tpot AS met,
    if(evaluated, if(met, 'met', 'missed'), if(outcome IN ('cancelled', 'invalid'), outcome, 'incomplete')) AS account,
    if(evaluated, if(met, 'none', 'insufficient_evidence'), '') AS cause
FROM
(
    SELECT
        request_key, first_bucket, model, tenant, route, cohort, prefill_worker, decode_worker,
        toUnixTimestamp64Nano(started_at) AS started_ns,
        outcome, finish_reason, censored, complete, attempts, input_tokens, output_tokens, cached_tokens, ttft_ns, tpot_ns, e2e_ns,
        exposed_ns, exposed_decode_ns, phase_ns, phase_from_ns, phase_until_ns, preempted_ns, composites,
        system, request_id, conversation_id, ended_at, stalled_ns, local_prompt_tokens, local_prompt_reason, first_token_by,
        spans, duplicate_spans, late_spans, joined_by, notes, ttft_uncertainty_ns,
        multiIf(isNull(input_tokens), '', input_tokens < 1024, '0-1K', input_tokens < 4096, '1-4K', input_tokens < 16384, '4-16K', '16K+') AS input_bucket,
        multiIf(isNull(output_tokens), '', output_tokens < 1024, '0-1K', output_tokens < 4096, '1-4K', output_tokens < 16384, '4-16K', '16K+') AS output_bucket,
        outcome = 'ok' AND ifNull(output_tokens, 1) > 0 AND finish_reason != 'error' AS answered,
        outcome IN ('ok', 'interrupted', 'timeout', 'error', 'rejected') AND (isNotNull(ttft_ns) OR NOT answered) AS evaluated,
        arrayFirstIndex(
            (m, r, t, b) -> (m = '' OR m = model) AND (r = '' OR r = route) AND (t = '' OR t = tenant) AND (b = '' OR b = input_bucket),
            {objective_models:Array(String)}, {objective_routes:Array(String)}, {objective_tenants:Array(String)}, {objective_buckets:Array(String)}
        ) AS objective
    FROM requests FINAL
    WHERE tombstone = 0
        AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
        AND ({model:String} = '' OR model = {model:String})
        AND ({tenant:String} = '' OR tenant = {tenant:String})
        AND ({route:String} = '' OR route = {route:String})
        AND ({cohort:String} = '' OR cohort = {cohort:String})
        AND ({worker:String} = '' OR prefill_worker = {worker:String} OR decode_worker = {worker:String})
        AND ({pool:String} IN ('', 'router')
            OR ({pool:String} = 'prefill' AND prefill_worker != '')
            OR ({pool:String} = 'decode' AND decode_worker != '')
            OR ({pool:String} = 'colocated' AND prefill_worker != '' AND prefill_worker = decode_worker))
)
SETTINGS do_not_merge_across_partitions_select_final = 1
