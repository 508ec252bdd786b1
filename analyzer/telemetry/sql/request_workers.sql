-- The workers that the window's requests name, by pool.
SELECT w.1 AS pool, w.2 AS worker, any(system) AS system, count() AS requests
FROM
(
    SELECT CAST(system, 'String') AS system, arrayJoin([('prefill', CAST(prefill_worker, 'String')), ('decode', CAST(decode_worker, 'String'))]) AS w
    FROM requests FINAL
    WHERE tombstone = 0 AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
)
WHERE worker != ''
GROUP BY pool, worker
ORDER BY pool, worker
LIMIT 2000
SETTINGS do_not_merge_across_partitions_select_final = 1
