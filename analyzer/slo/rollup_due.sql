-- Minutes with requests that changed at or after a version (a step may write the same version twice), oldest first.
SELECT toUnixTimestamp(first_bucket) AS minute, max(version) AS newest
FROM requests
WHERE version >= {since:UInt64}
GROUP BY first_bucket
ORDER BY first_bucket
