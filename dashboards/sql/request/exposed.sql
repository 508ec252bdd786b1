-- One request's TTFT cut into its parts, in seconds: they add up to it.
SELECT part, exposed_seconds[part] AS seconds
FROM request_log
ARRAY JOIN mapKeys(exposed_seconds) AS part
WHERE (key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote})) AND seconds > 0
ORDER BY indexOf(['router_queue', 'tokenize', 'prefill_queue', 'prefill_compute', 'kv_publish', 'kv_transfer', 'decode_queue', 'kv_import', 'first_decode_step', 'network_streaming', 'retry', 'unattributed'], part)
LIMIT 12
