-- Requests finished in (after, upto] of the ingest sequence: how many, and when the first and last of them started.
SELECT count() AS requests, toUnixTimestamp64Nano(min(started_at)) AS first_ns, toUnixTimestamp64Nano(max(started_at)) AS last_ns
FROM requests
WHERE finalized > {after:UInt64} AND finalized <= {upto:UInt64} AND tombstone = 0
