-- Causes of single requests as their minutes counted them, found by the table's own order.
SELECT lower(hex(request_key)) AS key, causes
FROM request_causes_kept FINAL
WHERE first_bucket IN (SELECT toDateTime(arrayJoin({buckets:Array(UInt32)}), 'UTC'))
    AND request_key IN (SELECT toFixedString(unhex(arrayJoin({keys:Array(String)})), 16))
SETTINGS do_not_merge_across_partitions_select_final = 1
