-- How one request is judged by the objectives in force, beside their limits in seconds, and why it missed: causes with their shares, largest
-- first. Null: it cannot be judged; account says why. Causes are counted within half a minute.
WITH (SELECT (min(started_at), max(started_at), groupArray(20)(key)) FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote})) AS asked
SELECT
    o.name AS judged_by, toString(account) AS account,
    multiIf(account = 'met', 'none', account != 'missed', '', why.key = '', 'not counted yet',
        arrayStringConcat(arrayMap((cause, share) -> concat(cause, ' ', toString(round(100 * share)), '%'), mapKeys(why.causes), mapValues(why.causes)), ', ')) AS reason,
    arrayStringConcat(why.met_without, ', ') AS met_without, r.met_ttft AS met_ttft, r.met_tpot AS met_tpot,
    r.ttft_ns / 1e9 AS ttft, o.ttft_seconds AS ttft_limit, r.tpot_ns / 1e9 AS tpot, o.tpot_seconds AS tpot_limit
FROM judged_requests(from_ns = toUnixTimestamp64Nano(asked.1), to_ns = toUnixTimestamp64Nano(asked.2) + 1,
    model = '', tenant = '', route = '', cohort = '', pool = '', worker = '', ${objectives:raw}) AS r
LEFT JOIN current_objectives AS o ON o.name = [${objective_names:raw}][r.objective]
LEFT JOIN
(
    SELECT key, causes, met_without
    FROM request_causes
    WHERE first_bucket >= asked.1 - INTERVAL 1 HOUR AND first_bucket <= asked.2 + INTERVAL 1 HOUR AND has(asked.3, key)
) AS why ON why.key = lower(hex(r.request_key))
WHERE has(asked.3, lower(hex(r.request_key)))
LIMIT 20
