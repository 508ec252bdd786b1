-- Minutes with requests that changed in (after, upto] of the ingest sequence, as Unix seconds, newest first.
SELECT DISTINCT toUnixTimestamp(toStartOfMinute(started_at)) AS minute
FROM requests
WHERE version > {after:UInt64} AND version <= {upto:UInt64}
ORDER BY minute DESC
LIMIT {limit:UInt32}
