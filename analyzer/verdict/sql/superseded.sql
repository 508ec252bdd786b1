-- Prompts computed for attempts that were given up. Unix nanoseconds.
SELECT cityHash64(CAST(i.worker, 'String')) AS worker, i.start_ns AS since_ns, i.end_ns AS until_ns
FROM requests FINAL
ARRAY JOIN intervals AS i
WHERE tombstone = 0 AND attempts > 1 AND i.phase = 'prefill_compute' AND i.attempt < attempts
    AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
    AND (empty({models:Array(String)}) OR has({models:Array(String)}, CAST(model, 'String')))
SETTINGS do_not_merge_across_partitions_select_final = 1
