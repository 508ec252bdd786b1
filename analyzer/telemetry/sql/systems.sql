-- The window's requests by the system they came from: which phases their spans tell, which instant their first token is, how many went through both pools.
SELECT
    CAST(system, 'String') AS system,
    count() AS requests,
    sumMap(CAST(arrayMap(p -> (toString(p), toUInt64(1)), arrayDistinct(arrayFilter(p -> p != '', intervals.phase))), 'Map(String, UInt64)')) AS phases,
    countIf(ttft_source != '') AS with_ttft,
    countIf(ttft_source = 'engine_first_token') AS engine_ttft,
    countIf(prefill_worker != '' AND decode_worker != '' AND prefill_worker != decode_worker) AS both
FROM requests FINAL
WHERE tombstone = 0 AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
GROUP BY system
ORDER BY requests DESC, system
SETTINGS do_not_merge_across_partitions_select_final = 1
