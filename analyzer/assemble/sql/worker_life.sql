-- From when to when each decode process is known to have worked. since: Unix seconds.
INSERT INTO {scratch:Identifier}.worker_life
SELECT decode_worker, decode_process, toUnixTimestamp64Nano(min(started_at)), toUnixTimestamp64Nano(max(coalesce(last_token_at, first_token_at, started_at)))
FROM requests FINAL
WHERE tombstone = 0 AND decode_process != '' AND first_token_at IS NOT NULL AND first_bucket >= toDateTime({since:UInt32}, 'UTC')
GROUP BY decode_worker, decode_process
