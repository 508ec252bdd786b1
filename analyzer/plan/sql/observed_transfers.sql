-- KV hand-offs between some workers that moved in a window: seconds from asking to moved, bytes, tokens.
SELECT toFloat64(moved_ns - asked_ns) / 1e9 AS seconds, ifNull(bytes, nan) AS bytes, ifNull(tokens, nan) AS tokens
FROM transfers FINAL
WHERE tombstone = 0
    AND at_ns >= {from_ns:Int64} AND at_ns < {to_ns:Int64}
    AND asked_ns > 0 AND moved_ns > asked_ns
    AND status NOT IN ('failed', 'expired', 'partial', 'skipped')
    AND (has({workers:Array(String)}, CAST(producer, 'String')) OR has({workers:Array(String)}, CAST(consumer, 'String')))
LIMIT {most:UInt64}
SETTINGS do_not_merge_across_partitions_select_final = 1
