-- What one request shows beyond what a list does.
SELECT
    toUnixTimestamp64Nano(ended_at) AS ended_ns,
    toUnixTimestamp64Nano(first_token_at) AS first_token_ns,
    toUnixTimestamp64Nano(last_token_at) AS last_token_ns,
    phase_ns, composites, intervals, spans, duplicate_spans, late_spans, joined_by, notes, receipt
FROM requests FINAL
WHERE tombstone = 0 AND first_bucket = toDateTime({bucket:UInt32}, 'UTC') AND request_key = toFixedString(unhex({key:String}), 16)
SETTINGS do_not_merge_across_partitions_select_final = 1
