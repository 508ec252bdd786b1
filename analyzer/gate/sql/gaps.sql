-- The 99th percentile of the gaps between tokens of each request that says it, seconds; keys as verdict/sql/requests.sql has them.
SELECT
    reinterpretAsUInt64(substring(CAST(request_key, 'String'), 1, 8)) AS key_a,
    reinterpretAsUInt64(substring(CAST(request_key, 'String'), 9, 8)) AS key_b,
    assumeNotNull(itl_p99_ms) / 1e3 AS itl_p99
FROM requests FINAL
WHERE tombstone = 0 AND isNotNull(itl_p99_ms)
    AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
    AND ({model:String} = '' OR model = {model:String}) AND ({tenant:String} = '' OR tenant = {tenant:String})
    AND ({route:String} = '' OR route = {route:String}) AND ({cohort:String} = '' OR cohort = {cohort:String})
SETTINGS do_not_merge_across_partitions_select_final = 1
