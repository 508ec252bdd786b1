-- Offsets in force in some slices.
SELECT toUnixTimestamp(slice) AS slice, worker, offset_ns, low_ns, high_ns, contradictory
FROM clock_offsets FINAL
WHERE slice IN (SELECT toDateTime(arrayJoin({slices:Array(UInt32)}), 'UTC'))
