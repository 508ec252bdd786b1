-- Keys of the requests that bear an id. tenant: whose alone; empty: everyone's. hex_id: the id when it is 32 hex digits, else 32 zeroes, which nothing bears.
SELECT
    lower(hex(request_key)) AS key,
    toUnixTimestamp(first_bucket) AS bucket,
    request_key = toFixedString(unhex({hex_id:String}), 16) AS by_key
FROM requests FINAL
WHERE tombstone = 0
    AND (request_key = toFixedString(unhex({hex_id:String}), 16) OR trace_id = toFixedString(unhex({hex_id:String}), 16)
        OR request_id = {id:String} OR client_request_id = {id:String})
    AND ({tenant:String} = '' OR tenant = {tenant:String})
ORDER BY started_at DESC, request_key DESC
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1
