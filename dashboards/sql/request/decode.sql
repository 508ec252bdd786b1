-- What the time from the first to the last token was spent on, in seconds.
SELECT part, exposed_decode_seconds[part] AS seconds
FROM request_log
ARRAY JOIN mapKeys(exposed_decode_seconds) AS part
WHERE (key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote})) AND seconds > 0
ORDER BY part
LIMIT 6
