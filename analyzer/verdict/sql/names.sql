-- The workers that requests of the window name, with their hashes.
SELECT name, cityHash64(name) AS code, max(prefilled) AS prefills, max(decoded) AS decodes
FROM
(
    SELECT arrayJoin([(CAST(prefill_worker, 'String'), 1, 0), (CAST(decode_worker, 'String'), 0, 1)]) AS w, w.1 AS name, toUInt8(w.2) AS prefilled, toUInt8(w.3) AS decoded
    FROM
    (
        SELECT DISTINCT prefill_worker, decode_worker FROM requests
        WHERE tombstone = 0 AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
            AND (empty({models:Array(String)}) OR has({models:Array(String)}, CAST(model, 'String')))
    )
)
WHERE name != ''
GROUP BY name
ORDER BY name
