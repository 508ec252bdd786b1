-- How many requests of a cohort carry what a rollout needs: identity on both legs, deadlines, route receipts, reports of fallback.
SELECT
    count() AS requests,
    countIf(request_id != '') AS named,
    countIf(prefill_worker != '' AND decode_worker != '') AS both_legs,
    countIf(complete = 1) AS whole,
    countIf(mapContains(receipt, 'deadline_ns')) AS with_deadline,
    countIf(mapContains(receipt, 'route_reason')) AS with_route_reason,
    countIf(mapContains(receipt, 'route_fallback')) AS with_fallback,
    countIf(isNotNull(local_prompt_tokens)) AS with_local_prompt,
    countIf(attempts > 1) AS retried,
    countIf(outcome = 'rejected') AS rejected,
    countIf(outcome = 'cancelled') AS cancelled,
    countIf(outcome = 'timeout') AS timed_out,
    groupUniqArray(8)(CAST(ttft_source, 'String')) AS ttft_sources
FROM requests FINAL
WHERE tombstone = 0
    AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
    AND ({model:String} = '' OR model = {model:String}) AND ({tenant:String} = '' OR tenant = {tenant:String})
    AND ({route:String} = '' OR route = {route:String}) AND ({cohort:String} = '' OR cohort = {cohort:String})
SETTINGS do_not_merge_across_partitions_select_final = 1
