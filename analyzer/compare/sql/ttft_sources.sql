-- Which instant TTFT ends with, by how many requests of one side.
SELECT toString(ttft_source) AS source, count() AS requests
FROM requests FINAL
WHERE tombstone = 0 AND ttft_source != ''
    AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
    AND ({model:String} = '' OR model = {model:String})
    AND ({tenant:String} = '' OR tenant = {tenant:String})
    AND ({route:String} = '' OR route = {route:String})
    AND ({cohort:String} = '' OR cohort = {cohort:String})
GROUP BY source
ORDER BY requests DESC, source
