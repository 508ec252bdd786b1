-- Clock offsets of the window's slices; workers of other models' requests are left out by the reader.
SELECT CAST(worker, 'String') AS worker, toInt64(toUnixTimestamp(slice)) * 1000000000 AS slice_ns, offset_ns, low_ns, high_ns, contradictory
FROM clock_offsets FINAL
WHERE slice >= toStartOfFiveMinutes(fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC')) AND slice < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
ORDER BY worker, slice
