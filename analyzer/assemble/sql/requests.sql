-- Cuts each request's time and writes a new version of its row.
--
-- Exposed time: interval starts and ends are put in order; running sums tell which lanes are active in each segment between
-- two of them, and a segment belongs to the earliest active lane. Lanes: 0 retry, 1-10 the phases before the first token,
-- 11 decode, 12 preempted, 13-23 composites. A lane is 8 bits of one of three 64-bit words (lanes_a, lanes_b, lanes_c).
INSERT INTO requests
(
    request_key, first_bucket, version, request_id, client_request_id, trace_id, conversation_id, system, model, tenant, route, cohort,
    prefill_worker, decode_worker, decode_process, started_at, ended_at, outcome, finish_reason, http_status, complete, censored, attempts,
    itl_p50_ms, itl_p99_ms, itl_max_ms, stalled_ns, local_prompt_tokens, local_prompt_reason, first_token_by, receipt,
    input_tokens, output_tokens, cached_tokens, first_token_at, last_token_at, ttft_ns, ttft_source, ttft_uncertainty_ns, tpot_ns, e2e_ns,
    exposed_ns, exposed_decode_ns, phase_ns, phase_from_ns, phase_until_ns, preempted_ns, composites, intervals, spans, duplicate_spans, late_spans, finalized, joined_by, notes
)
WITH
    ['router_queue', 'tokenize', 'prefill_queue', 'prefill_compute', 'kv_publish', 'kv_transfer', 'decode_queue', 'kv_import', 'first_decode_step', 'network_streaming', 'decode', 'preempted'] AS phase_names,
    ['observed', 'derived', 'bounded'] AS source_names,
    over_limit AS (SELECT toString(kind), name FROM {scratch:Identifier}.names_over_limit),
    toInt64(-9223372036854775808) AS not_seen
SELECT
    request_key, first_bucket, version, request_id, client_request_id, root_trace, conversation_id, system,
    if(('models', model) IN over_limit, '__other__', model), if(('tenants', tenant) IN over_limit, '__other__', tenant),
    if(('routes', route) IN over_limit, '__other__', route), cohort,
    if(('workers', prefill_worker) IN over_limit, '__other__', prefill_worker), if(('workers', decode_worker) IN over_limit, '__other__', decode_worker),
    decode_process,
    fromUnixTimestamp64Nano(t0, 'UTC'),
    if(t_end > 0, fromUnixTimestamp64Nano(t_end, 'UTC'), NULL),
    outcome, finish_reason, http_status, complete, censored, attempts,
    itl_p50_ms, itl_p99_ms, itl_max_ms, if(stalled_seen, stalled, NULL), local_prompt_tokens, local_prompt_reason, first_token_by, receipt,
    input_tokens, output_tokens, cached_tokens,
    if(first_token > 0, fromUnixTimestamp64Nano(first_token, 'UTC'), NULL),
    if(last_token > 0, fromUnixTimestamp64Nano(last_token, 'UTC'), NULL),
    if(t1 > 0, t1 - t0, NULL),
    multiIf(first_token = 0, '', first_rank = 1, 'client', first_rank IN (0, 2), 'router_first_token', 'engine_first_token'),
    multiIf(first_token = 0, NULL, first_rank <= 2, 0, t_end > 0 AND engine_end > 0, greatest(0, t_end - engine_end), NULL),
    if(d1 > 0 AND output_tokens >= 2, (last_token - first_token) / (output_tokens - 1), NULL),
    if(t_end > 0, t_end - t0, NULL),
    if(t1 = 0, emptyArrayUInt64(), arrayMap(x -> toUInt64(x), arrayPushBack(exposed, t1 - t0 - arraySum(exposed)))),
    if(d1 = 0, emptyArrayUInt64(), arrayMap(x -> toUInt64(x), [decode_sums[4] - blocked_running, decode_sums[1], decode_sums[2], decode_sums[3], blocked_running + blocked_idle, idle - blocked_idle])),
    -- one interval per phase and one attempt is the rule: then a phase's own time is that interval's
    if(plain_phases,
        arrayMap(n -> toUInt64(if(n = 0, 0, ivs.4[n] - ivs.3[n])), places),
        arrayMap(k -> toUInt64(arraySum((w, a, b) -> w * (bitAnd(if(k < 8, a, b), bitShiftLeft(toInt64(255), 8 * (k % 8))) != 0), widths, lanes_a, lanes_b)), range(1, 12))),
    if(plain_phases,
        arrayMap(n -> if(n = 0, not_seen, ivs.3[n] - t0), places),
        arrayMap(k -> if(arrayExists(i -> i.1 = k AND (k < 3 OR i.5 = attempts), ivs), arrayMin(arrayMap(i -> i.3 - t0, arrayFilter(i -> i.1 = k AND (k < 3 OR i.5 = attempts), ivs))), not_seen), range(1, 12))),
    if(plain_phases,
        arrayMap(n -> if(n = 0, not_seen, ivs.4[n] - t0), places),
        arrayMap(k -> if(arrayExists(i -> i.1 = k AND (k < 3 OR i.5 = attempts), ivs), arrayMax(arrayMap(i -> i.4 - t0, arrayFilter(i -> i.1 = k AND (k < 3 OR i.5 = attempts), ivs))), not_seen), range(1, 12))),
    toUInt64(arraySum(arrayMap(i -> i.4 - i.3, arrayFilter(i -> i.1 = 12, ivs)))),
    arrayFilter(c -> t1 > 0 AND c.2 > 0, arrayMap((c, n) -> (
        arrayFilter((p, b) -> bitTest(c.2, b - 1), arraySlice(phase_names, 1, 11), range(1, 12)),
        toUInt64(arraySum((w, o) -> w * (o = 12 + n), ttft_widths, owners)), c.3), comps, arrayEnumerate(comps))),
    arrayMap(i -> (
        if(i.1 = 0, '', phase_names[i.1]),
        if(i.1 = 0, arrayFilter((p, b) -> bitTest(i.2, b - 1), arraySlice(phase_names, 1, 11), range(1, 12)), []),
        i.3, i.4,
        -- the name the router gave the worker that counted; else its processes' own
        multiIf(i.5 < attempts, i.9, i.8 = 1 AND prefill_worker != prefill_process, prefill_worker, i.8 IN (2, 4) AND decode_worker != decode_process, decode_worker, i.9),
        i.5, source_names[i.6], i.7), ivs),
    spans, duplicate_spans, late_spans,
    multiIf(finalized_before > 0, finalized_before, complete, version, 0),
    joined_by,
    arrayFilter(n -> n != '', [
        if(impossible > 0, 'impossible_duration', ''),
        if(first_token_raw > 0 AND first_token_raw < t0, 'first_token_before_start', ''),
        if(masked, 'success_status_masks_failure', ''),
        if(NOT has_root, 'no_request_span', ''),
        if(presumed_cancelled, 'client_left_without_engine_span', ''),
        if(has_root AND t_end > 0 AND first_token = 0 AND outcome IN ('', 'ok'), 'no_first_token', '')])
FROM
(
    SELECT
        *,
        least(stalled, idle) AS blocked_idle,
        least(greatest(stalled - idle, 0), decode_sums[4]) AS blocked_running
    FROM
    (
        SELECT
            *,
            -- when the reader stalled is not known: it is taken from idle time first
            d1 - d0 - arraySum(decode_sums) AS idle
        FROM
        (
            SELECT
                *,
                arrayMap(k -> toInt64(arraySum((w, o) -> w * (o = k), ttft_widths, owners)), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0]) AS exposed,
                -- preempted, recompute, hand-off, running
                arrayMap(k -> toInt64(arraySum((w, o) -> w * (o = k), widths, decode_owners)), [1, 2, 3, 4]) AS decode_sums
            FROM
            (
                SELECT
                    *,
                    arrayMap((w, s) -> w * (s >= t0 AND s < t1), widths, starts) AS ttft_widths,
                    arrayMap((a, b, c) -> multiIf(
                        a != 0, intDiv(bitCount(bitXor(a, a - 1)) - 1, 8),
                        bitAnd(b, -1099494850561) != 0, 8 + intDiv(bitCount(bitXor(bitAnd(b, -1099494850561), bitAnd(b, -1099494850561) - 1)) - 1, 8),
                        c != 0, 16 + intDiv(bitCount(bitXor(c, c - 1)) - 1, 8),
                        255), lanes_a, lanes_b, lanes_c) AS owners,
                    arrayMap((w, s, a, b) -> if(s >= d0 AND s < d1, multiIf(
                        bitAnd(b, 1095216660480) != 0, 1,
                        bitAnd(a, 1095216660480) != 0, 2,
                        bitAnd(a, 71776119061217280) != 0 OR bitAnd(b, 255) != 0, 3,
                        bitAnd(b, 4278190080) != 0, 4, 0), 0), widths, starts, lanes_a, lanes_b) AS decode_owners
                FROM
                (
                    SELECT
                        *,
                        arrayPopBack(arrayMap(x -> x.1, changes)) AS starts,
                        arrayPopFront(arrayDifference(arrayMap(x -> x.1, changes))) AS widths,
                        arrayPopBack(arrayCumSum(x -> x.2, changes)) AS lanes_a,
                        arrayPopBack(arrayCumSum(x -> x.3, changes)) AS lanes_b,
                        arrayPopBack(arrayCumSum(x -> x.4, changes)) AS lanes_c
                    FROM
                    (
                        SELECT
                            *,
                            arrayMap(k -> indexOf(ivs.1, k), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) AS places,
                            attempts = 1 AND length(ivs.1) - countEqual(ivs.1, 0) = length(arrayDistinct(ivs.1)) - has(ivs.1, 0) AS plain_phases,
                            first_token = 0 AND t1 > 0 AS censored,
                            has_root AND t_end > 0 AND outcome != '' AND (t1 > 0 OR outcome IN ('cancelled', 'rejected', 'invalid')) AS complete,
                            arraySort(x -> x.1, arrayConcat(
                                arrayMap((i, l, u) -> (i.3, if(l < 8, u, 0), if(l BETWEEN 8 AND 15, u, 0), if(l > 15, u, 0)), ivs, lanes, units),
                                -- an attempt that was superseded stops counting at the next dispatch
                                arrayMap((i, l, u) -> (if(i.5 < attempts, greatest(i.3, arrayMin(arrayPushBack(arrayFilter(d -> d > 0, arraySlice(dispatches, i.5 + 1)), i.4))), i.4), if(l < 8, -u, 0), if(l BETWEEN 8 AND 15, -u, 0), if(l > 15, -u, 0)), ivs, lanes, units),
                                if(retry_end > retry_start, [(retry_start, toInt64(1), toInt64(0), toInt64(0)), (retry_end, toInt64(-1), toInt64(0), toInt64(0))], []),
                                arrayMap(t -> (t, toInt64(0), toInt64(0), toInt64(0)), arrayFilter(t -> t > 0, [t0, t1, d0, d1])))) AS changes
                        FROM {scratch:Identifier}.batch_timelines
                    )
                )
            )
        )
    )
)
-- what it reads is in memory: there is nothing to plan around
SETTINGS query_plan_enable_optimizations = 0
