-- Ended requests of which nothing says how, while their decode process is known to have worked on: to be judged again.
INSERT INTO {scratch:Identifier}.batch_traces (trace_id, start_ns, end_ns, minutes)
SELECT trace_id, toUnixTimestamp64Nano(started_at), toUnixTimestamp64Nano(assumeNotNull(ended_at)), [toStartOfMinute(started_at)]
FROM requests FINAL
WHERE tombstone = 0 AND outcome = '' AND decode_worker != '' AND ended_at IS NOT NULL AND first_bucket >= toDateTime({since:UInt32}, 'UTC')
    AND arrayExists(
        l -> l.1 = decode_worker AND l.2 <= toUnixTimestamp64Nano(started_at) AND l.3 > toUnixTimestamp64Nano(assumeNotNull(ended_at)),
        (SELECT groupArray((worker, first_ns, last_ns)) FROM {scratch:Identifier}.worker_life))
LIMIT 10000
