-- Minutes of [from_s, to_s) that have been counted, and the ingest sequence that the count took into account.
SELECT toUnixTimestamp(minute) AS minute, max(counted_upto) AS upto
FROM objective_minutes_kept
WHERE minute >= toDateTime({from_s:UInt32}, 'UTC') AND minute < toDateTime({to_s:UInt32}, 'UTC')
GROUP BY minute
