-- The values of one label of the window's requests, with their hashes.
SELECT DISTINCT name, cityHash64(name) AS code
FROM
(
    SELECT CAST(multiIf({label:String} = 'model', model, {label:String} = 'tenant', tenant, {label:String} = 'route', route, cohort), 'String') AS name
    FROM requests
    WHERE tombstone = 0 AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
        AND ({model:String} = '' OR model = {model:String})
)
LIMIT 10000
