-- Requests of each minute before a window, the newest first, and what 99 of 100 lasted; versions count apart.
SELECT
    toUnixTimestamp(first_bucket) AS minute,
    count() AS requests,
    ifNull(quantile(0.99)(e2e_ns) / 1e9, 0) AS lasted
FROM requests
WHERE first_bucket >= toDateTime(intDiv({since_ns:Int64}, 1000000000), 'UTC') AND first_bucket < toDateTime(intDiv({from_ns:Int64}, 1000000000), 'UTC')
    AND (empty({models:Array(String)}) OR has({models:Array(String)}, CAST(model, 'String'))) AND tombstone = 0
GROUP BY first_bucket
ORDER BY first_bucket DESC
