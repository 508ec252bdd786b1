-- Minutes (Unix seconds) touched by requests that changed in [after, upto] of the ingest sequence, and by which change last. A request touches
-- the minute it starts in, that in which it was first seen, and every one in between: it may have been counted in any of them.
-- Changes of the first and of the last sequence stand apart: assembly may add to a sequence that it has reached.
SELECT
    toUnixTimestamp(toStartOfMinute(least(started_at, first_bucket))) AS since,
    toUnixTimestamp(toStartOfMinute(greatest(started_at, first_bucket))) AS until,
    max(version) AS newest,
    count() AS changes
FROM requests
WHERE version >= {after:UInt64} AND version <= {upto:UInt64}
GROUP BY since, until, version = {after:UInt64}, version = {upto:UInt64}
ORDER BY since
