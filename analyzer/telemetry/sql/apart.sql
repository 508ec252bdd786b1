-- Requests that a tap alone tells although, while they ran, requests of a system began under the same id: more than one fits.
SELECT other.system AS system, uniqExact(tap.request_key) AS requests, any(tap.request_id) AS example
FROM
(
    SELECT request_key, request_id, started_at, ended_at FROM requests FINAL
    WHERE tombstone = 0 AND system = 'native' AND request_id != '' AND ended_at IS NOT NULL AND prefill_worker = '' AND decode_worker = ''
        AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
) AS tap
INNER JOIN
(
    SELECT toString(requests.system) AS system, client_request_id, started_at FROM requests FINAL
    WHERE tombstone = 0 AND system != 'native' AND client_request_id != ''
        AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
) AS other ON tap.request_id = other.client_request_id
WHERE other.started_at BETWEEN tap.started_at AND tap.ended_at
GROUP BY system
ORDER BY system
