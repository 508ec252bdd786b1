-- Names that requests stored in the last `age` seconds carry, by kind.
SELECT DISTINCT pair.1 AS kind, pair.2 AS name
FROM
(
    SELECT arrayJoin([('models', toString(model)), ('tenants', toString(tenant)), ('routes', toString(route)), ('workers', toString(prefill_worker)), ('workers', toString(decode_worker))]) AS pair
    FROM requests
    WHERE ingested_at > now('UTC') - {age:UInt32}
)
WHERE name NOT IN ('', '__other__')
ORDER BY kind, name
