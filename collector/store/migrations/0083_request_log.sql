-- Requests for dashboards: one row each, ids as text, latencies and parts in seconds; null where nothing was measured.
-- exposed_seconds: TTFT cut into parts that add up to it; phase_seconds: each phase's own duration.
CREATE VIEW request_log AS
SELECT
    lower(hex(request_key)) AS key,
    request_id, client_request_id, lower(hex(trace_id)) AS trace_id, conversation_id,
    system, model, tenant, route, cohort, prefill_worker, decode_worker,
    started_at, ended_at, outcome, finish_reason, http_status, complete = 1 AS is_complete, censored = 1 AS is_censored, attempts,
    input_tokens, output_tokens, cached_tokens,
    multiIf(isNull(input_tokens), '', input_tokens < 1024, '0-1K', input_tokens < 4096, '1-4K', input_tokens < 16384, '4-16K', '16K+') AS input_bucket,
    multiIf(isNull(output_tokens), '', output_tokens < 1024, '0-1K', output_tokens < 4096, '1-4K', output_tokens < 16384, '4-16K', '16K+') AS output_bucket,
    first_token_at, last_token_at,
    ttft_ns / 1e9 AS ttft_seconds,
    ttft_source,
    ttft_uncertainty_ns / 1e9 AS ttft_uncertainty_seconds,
    tpot_ns / 1e9 AS tpot_seconds,
    e2e_ns / 1e9 AS e2e_seconds,
    itl_p50_ms / 1e3 AS itl_p50_seconds,
    itl_p99_ms / 1e3 AS itl_p99_seconds,
    itl_max_ms / 1e3 AS itl_max_seconds,
    mapFromArrays(arrayResize(['router_queue', 'tokenize', 'prefill_queue', 'prefill_compute', 'kv_publish', 'kv_transfer', 'decode_queue', 'kv_import',
        'first_decode_step', 'network_streaming', 'retry', 'unattributed'], length(exposed_ns)), arrayMap(ns -> ns / 1e9, exposed_ns)) AS exposed_seconds,
    mapFromArrays(arrayResize(['running', 'preempted', 'recompute', 'handoff', 'blocked', 'unattributed'], length(exposed_decode_ns)),
        arrayMap(ns -> ns / 1e9, exposed_decode_ns)) AS exposed_decode_seconds,
    mapFromArrays(arrayResize(['router_queue', 'tokenize', 'prefill_queue', 'prefill_compute', 'kv_publish', 'kv_transfer', 'decode_queue', 'kv_import',
        'first_decode_step', 'network_streaming', 'decode'], length(phase_ns)), arrayMap(ns -> ns / 1e9, phase_ns)) AS phase_seconds,
    spans, duplicate_spans, late_spans, joined_by, notes, receipt
FROM requests FINAL
WHERE tombstone = 0
SETTINGS do_not_merge_across_partitions_select_final = 1
