-- What is known of one request.
SELECT
    key, request_id, trace_id, system, model, tenant, route, started_at, toString(outcome) AS ended, toString(finish_reason) AS finish, attempts,
    input_tokens, cached_tokens, output_tokens, ttft_seconds, toString(ttft_source) AS ttft_from, ttft_uncertainty_seconds, tpot_seconds, e2e_seconds,
    toString(prefill_worker) AS prefill, toString(decode_worker) AS decode, arrayStringConcat(joined_by, ', ') AS joined, arrayStringConcat(notes, ', ') AS remarks
FROM request_log
WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote})
ORDER BY started_at DESC
LIMIT 20
