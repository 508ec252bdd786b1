-- How one request is judged by the objectives in force, beside their limits in seconds, and why it missed: causes with their shares, largest
-- first. Null: it cannot be judged; account says why. Causes are counted within half a minute.
SELECT
    o.name AS judged_by, toString(account) AS account, multiIf(account = 'met', 'none', account != 'missed', '', why.key = '', 'not counted yet', arrayStringConcat(arrayMap((cause, share) -> concat(cause, ' ', toString(round(100 * share)), '%'), mapKeys(why.causes), mapValues(why.causes)), ', ')) AS reason,
    arrayStringConcat(why.met_without, ', ') AS met_without, r.met_ttft AS met_ttft, r.met_tpot AS met_tpot,
    r.ttft_ns / 1e9 AS ttft, o.ttft_seconds AS ttft_limit, r.tpot_ns / 1e9 AS tpot, o.tpot_seconds AS tpot_limit
FROM judged_requests(
    from_ns = (SELECT toUnixTimestamp64Nano(min(started_at)) FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote})),
    to_ns = (SELECT toUnixTimestamp64Nano(max(started_at)) + 1 FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote})),
    model = '', tenant = '', route = '', cohort = '', pool = '', worker = '', ${objectives:raw}) AS r
LEFT JOIN current_objectives AS o ON o.name = [${objective_names:raw}][r.objective]
LEFT JOIN
(
    SELECT key, causes, met_without FROM request_causes
    WHERE first_bucket >= (SELECT min(started_at) - INTERVAL 1 HOUR FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote}))
        AND first_bucket <= (SELECT max(started_at) + INTERVAL 1 HOUR FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote}))
        AND key IN (SELECT key FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote}))
) AS why ON why.key = lower(hex(r.request_key))
WHERE lower(hex(r.request_key)) IN (SELECT key FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote}))
LIMIT 20
