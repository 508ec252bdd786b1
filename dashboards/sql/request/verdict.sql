-- How one request is judged by the objectives in force, beside their limits in seconds. Null: it cannot be judged; account says why.
SELECT
    o.name AS judged_by, toString(account) AS account, toString(cause) AS reason, r.met_ttft AS met_ttft, r.met_tpot AS met_tpot,
    r.ttft_ns / 1e9 AS ttft, o.ttft_seconds AS ttft_limit, r.tpot_ns / 1e9 AS tpot, o.tpot_seconds AS tpot_limit
FROM judged_requests(
    from_ns = (SELECT toUnixTimestamp64Nano(min(started_at)) FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote})),
    to_ns = (SELECT toUnixTimestamp64Nano(max(started_at)) + 1 FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote})),
    model = '', tenant = '', route = '', cohort = '', pool = '', worker = '', ${objectives:raw}) AS r
LEFT JOIN current_objectives AS o ON o.name = [${objective_names:raw}][r.objective]
WHERE lower(hex(r.request_key)) IN (SELECT key FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote}))
LIMIT 20
