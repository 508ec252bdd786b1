-- What a list of requests shows of each, found by the table's own order (first_bucket, request_key).
SELECT
    lower(hex(request_key)) AS key,
    lower(hex(trace_id)) AS trace,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    request_id, client_request_id, system, model, tenant, route, cohort, prefill_worker, decode_worker,
    outcome, finish_reason, http_status, complete, censored, attempts, input_tokens, output_tokens, cached_tokens,
    ttft_ns, ttft_source, ttft_uncertainty_ns, tpot_ns, e2e_ns, exposed_ns, exposed_decode_ns
FROM requests FINAL
WHERE tombstone = 0
    AND first_bucket IN (SELECT toDateTime(arrayJoin({buckets:Array(UInt32)}), 'UTC'))
    AND request_key IN (SELECT toFixedString(unhex(arrayJoin({keys:Array(String)})), 16))
SETTINGS do_not_merge_across_partitions_select_final = 1
