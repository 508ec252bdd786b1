-- The requests of some slices, to be assembled again with other clock offsets.
INSERT INTO {scratch:Identifier}.batch_traces (trace_id, start_ns, end_ns, minutes)
SELECT alias, any(toUnixTimestamp64Nano(toDateTime64(first_bucket, 9, 'UTC'))), any(toUnixTimestamp64Nano(toDateTime64(first_bucket, 9, 'UTC'))), any([first_bucket])
FROM identity
WHERE kind = 0 AND first_bucket IN (SELECT toDateTime(arrayJoin({slices:Array(UInt32)}), 'UTC') + 60 * arrayJoin(range(5)))
GROUP BY alias
