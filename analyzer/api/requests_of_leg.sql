-- Keys of the requests of which a leg bears an id: spans in a trace of their own, or under a request id of their own. tenant: whose alone;
-- empty: everyone's. hex_id: the id when it is 32 hex digits, else 32 zeroes, which nothing bears.
SELECT lower(hex(request_key)) AS key, toUnixTimestamp(first_bucket) AS bucket, 0 AS by_key
FROM requests FINAL
WHERE tombstone = 0
    AND request_key IN
    (
        SELECT argMax(request_key, version) FROM identity
        WHERE (kind = 0 AND alias = toFixedString(unhex({hex_id:String}), 16))
            OR (kind = 1 AND alias = reinterpretAsFixedString(sipHash128({id:String})))
        GROUP BY bucket, kind, tenant, trace_id
        UNION ALL
        -- a trace of several requests names none of them; each of them names its traces
        SELECT alias FROM identity WHERE kind = 2 AND trace_id = toFixedString(unhex({hex_id:String}), 16)
    )
    AND ({tenant:String} = '' OR tenant = {tenant:String})
ORDER BY started_at DESC, request_key DESC
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1
