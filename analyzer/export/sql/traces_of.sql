-- Trace ids of some requests.
SELECT DISTINCT lower(hex(request_key)) AS key, lower(hex(trace_id)) AS trace
FROM requests
WHERE request_key IN (SELECT toFixedString(unhex(arrayJoin({keys:Array(String)})), 16))
    AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
