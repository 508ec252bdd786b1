-- What the offsets in force in each slice hash to, to notice those that others changed.
SELECT toUnixTimestamp(slice) AS slice, cityHash64(arraySort(groupArray((worker, offset_ns)))) AS offsets
FROM clock_offsets FINAL
GROUP BY slice
