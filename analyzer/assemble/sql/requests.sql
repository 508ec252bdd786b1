-- Rebuilds the requests of one step from all their spans and writes a new version of each.
--
-- Exposed time: interval starts and ends are put in order; running sums tell which lanes are active in each segment between
-- two of them, and a segment belongs to the earliest active lane. Lanes: 0 retry, 1-10 the phases before the first token,
-- 11 decode, 12 preempted, 13-23 composites. A lane is 8 bits of one of three 64-bit words (lanes_a, lanes_b, lanes_c).
INSERT INTO requests
(
    request_key, first_bucket, version, request_id, client_request_id, trace_id, conversation_id, system, model, tenant, route, cohort,
    prefill_worker, decode_worker, decode_process, started_at, ended_at, outcome, finish_reason, http_status, complete, censored, attempts,
    input_tokens, output_tokens, cached_tokens, first_token_at, last_token_at, ttft_ns, ttft_source, ttft_uncertainty_ns, tpot_ns, e2e_ns,
    exposed_ns, exposed_decode_ns, phase_ns, composites, intervals, spans, duplicate_spans, late_spans, finalized, joined_by, notes
)
WITH
    (SELECT groupArray((start, end, phase, covers, source, reason)) FROM mark_rules) AS between,
    (SELECT groupArray((worker, first_ns, last_ns)) FROM worker_life) AS lives,
    ['router_queue', 'tokenize', 'prefill_queue', 'prefill_compute', 'kv_publish', 'kv_transfer', 'decode_queue', 'kv_import', 'first_decode_step', 'network_streaming', 'decode', 'preempted'] AS phase_names,
    ['observed', 'derived', 'bounded'] AS source_names
SELECT
    request_key, first_bucket, version, request_id, client_request_id, root_trace, conversation_id, system, model, tenant, route, cohort,
    prefill_worker, decode_worker, decode_process,
    fromUnixTimestamp64Nano(t0, 'UTC'),
    if(t_end > 0, fromUnixTimestamp64Nano(t_end, 'UTC'), NULL),
    outcome, finish_reason, http_status, complete, censored, attempts, input_tokens, output_tokens, cached_tokens,
    if(first_token > 0, fromUnixTimestamp64Nano(first_token, 'UTC'), NULL),
    if(last_token > 0, fromUnixTimestamp64Nano(last_token, 'UTC'), NULL),
    if(t1 > 0, t1 - t0, NULL),
    multiIf(first_token = 0, '', first_rank = 1, 'client', first_rank = 2, 'router_first_token', 'engine_first_token'),
    multiIf(first_token = 0, NULL, first_rank <= 2, 0, t_end > 0 AND engine_end > 0, greatest(0, t_end - engine_end), NULL),
    if(d1 > 0 AND output_tokens >= 2, (last_token - first_token) / (output_tokens - 1), NULL),
    if(t_end > 0, t_end - t0, NULL),
    if(t1 = 0, emptyArrayUInt64(), arrayMap(x -> toUInt64(x), arrayPushBack(exposed, t1 - t0 - arraySum(exposed)))),
    if(d1 = 0, emptyArrayUInt64(), arrayMap(x -> toUInt64(x), [decode_sums[4] - blocked_running, decode_sums[1], decode_sums[2], decode_sums[3], blocked_running + blocked_idle, idle - blocked_idle])),
    arrayMap(k -> toUInt64(arraySum((w, a, b) -> w * (bitAnd(if(k < 8, a, b), bitShiftLeft(toInt64(255), 8 * (k % 8))) != 0), widths, lanes_a, lanes_b)), range(1, 12)),
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
                            first_token = 0 AND t1 > 0 AS censored,
                            has_root AND t_end > 0 AND outcome != '' AND (t1 > 0 OR outcome IN ('cancelled', 'rejected', 'invalid')) AS complete,
                            arraySort(x -> x.1, arrayConcat(
                                arrayMap((i, l, u) -> (i.3, if(l < 8, u, 0), if(l BETWEEN 8 AND 15, u, 0), if(l > 15, u, 0)), ivs, lanes, units),
                                -- an attempt that was superseded stops counting at the next dispatch
                                arrayMap((i, l, u) -> (if(i.5 < attempts, greatest(i.3, arrayMin(arrayPushBack(arrayFilter(d -> d > 0, arraySlice(dispatches, i.5 + 1)), i.4))), i.4), if(l < 8, -u, 0), if(l BETWEEN 8 AND 15, -u, 0), if(l > 15, -u, 0)), ivs, lanes, units),
                                if(retry_end > retry_start, [(retry_start, toInt64(1), toInt64(0), toInt64(0)), (retry_end, toInt64(-1), toInt64(0), toInt64(0))], []),
                                arrayMap(t -> (t, toInt64(0), toInt64(0), toInt64(0)), arrayFilter(t -> t > 0, [t0, t1, d0, d1])))) AS changes
                        FROM
                        (
                            SELECT
                                *,
                                outcome = 'error' AND (outcome_fact = 'ok' OR (outcome_fact = '' AND http_status BETWEEN 200 AND 399)) AS masked,
                                -- the end of the window that TTFT is: the first token, or the age of a request that failed without one
                                multiIf(first_token > 0, first_token, t_end > 0 AND t_end >= t0 AND outcome IN ('timeout', 'error', 'interrupted'), t_end, 0) AS t1,
                                -- lost to attempts that were superseded before the first token; of a first attempt that left no trace only t0 bounds the dispatch
                                if(attempts = 1, 0, if(dispatches[1] > 0, dispatches[1], t0)) AS retry_start,
                                if(attempts = 1, 0, arrayMax(arrayPushBack(arrayFilter(d -> d < t1, arraySlice(dispatches, 2)), 0))) AS retry_end,
                                arrayMap(i -> if(i.1 > 0, i.1, 12 + least(11, indexOf(comps, (toUInt8(bitCount(bitXor(i.2, i.2 - 1))), i.2, i.7)))), ivs) AS lanes,
                                arrayMap(i -> bitShiftLeft(toInt64(1), 8 * (if(i.1 > 0, i.1, 12 + least(11, indexOf(comps, (toUInt8(bitCount(bitXor(i.2, i.2 - 1))), i.2, i.7)))) % 8)), ivs) AS units
                            FROM
                            (
                                SELECT
                                    *,
                                    multiIf(
                                        outcome_fact = 'ok' AND (finish_reason IN ('error', 'abort') OR output_tokens = 0), 'error',
                                        outcome_fact != '', outcome_fact,
                                        http_status = 0, '',
                                        http_status IN (429, 503), 'rejected',
                                        http_status = 499, 'cancelled',
                                        http_status = 504, 'timeout',
                                        http_status >= 500, 'error',
                                        http_status >= 400, 'invalid',
                                        presumed_cancelled, 'cancelled',
                                        engine_end = 0, '',
                                        output_tokens = 0, 'error',
                                        t_end > 0 AND t_end + 1000000 < engine_end, 'cancelled',
                                        'ok') AS outcome,
                                    if(first_token > 0 AND last_token >= first_token, first_token, 0) AS d0,
                                    if(first_token > 0 AND last_token >= first_token, last_token, 0) AS d1,
                                    toUInt8(greatest(1, arrayMax(arrayPushBack(arrayMap(i -> i.5, ivs), 1)))) AS attempts,
                                    -- when each attempt left the router's queue, else when its first work beyond the router began; 0: not known
                                    if(attempts = 1, emptyArrayInt64(), arrayMap(k -> if(arrayExists(i -> i.1 = 1 AND i.5 = k, ivs),
                                        arrayMax(arrayMap(i -> i.4, arrayFilter(i -> i.1 = 1 AND i.5 = k, ivs))),
                                        arrayMin(arrayMap(i -> i.3, arrayFilter(i -> i.1 BETWEEN 3 AND 11 AND i.5 = k, ivs)))), range(1, attempts + 1))) AS dispatches,
                                    arraySort(arrayDistinct(arrayMap(i -> (toUInt8(bitCount(bitXor(i.2, i.2 - 1))), i.2, i.7), arrayFilter(i -> i.1 = 0, ivs)))) AS comps
                                FROM
                                (
                                    SELECT
                                        *,
                                        if(first_token_raw < t0, 0, first_token_raw) AS first_token,
                                        arrayMax(arrayPushBack(arrayMap(k -> k.3, arrayFilter(k -> k.1 = 'last_token' AND k.2 = first_rank, marks)), 0)) AS last_token,
                                        -- a stream that ended although its decode worker, which lived on, never reported it: the client left
                                        outcome_fact = '' AND http_status BETWEEN 200 AND 399 AND engine_end = 0 AND decode_dispatch > 0 AND t_end > 0
                                            AND arrayExists(l -> l.1 = decode_worker AND l.2 <= t0 AND l.3 > t_end, lives) AS presumed_cancelled
                                    FROM
                                    (
                                        SELECT
                                            *,
                                            fact_values[indexOf(fact_names, 'request_id')] AS request_id,
                                            fact_values[indexOf(fact_names, 'client_request_id')] AS client_request_id,
                                            fact_values[indexOf(fact_names, 'conversation_id')] AS conversation_id,
                                            fact_values[indexOf(fact_names, 'model')] AS model,
                                            fact_values[indexOf(fact_names, 'tenant')] AS tenant,
                                            fact_values[indexOf(fact_names, 'route')] AS route,
                                            if(indexOf(fact_names, 'cohort') > 0, fact_values[indexOf(fact_names, 'cohort')], process_cohort) AS cohort,
                                            fact_values[indexOf(fact_names, 'outcome')] AS outcome_fact,
                                            fact_values[indexOf(fact_names, 'finish_reason')] AS finish_reason,
                                            toUInt16OrZero(fact_values[indexOf(fact_names, 'http_status')]) AS http_status,
                                            toUInt32OrNull(fact_values[indexOf(fact_names, 'input_tokens')]) AS input_tokens,
                                            toUInt32OrNull(fact_values[indexOf(fact_names, 'output_tokens')]) AS output_tokens,
                                            toUInt32OrNull(fact_values[indexOf(fact_names, 'cached_tokens')]) AS cached_tokens,
                                            greatest(0, ifNull(accurateCastOrNull(round(toFloat64OrZero(fact_values[indexOf(fact_names, 'stalled_ms')]) * 1e6), 'Int64'), 0)) AS stalled,
                                            multiIf(
                                                indexOf(fact_names, 'prefill_worker') > 0, fact_values[indexOf(fact_names, 'prefill_worker')],
                                                indexOf(fact_names, 'prefill_host') > 0, concat(fact_values[indexOf(fact_names, 'prefill_host')], ':', fact_values[indexOf(fact_names, 'prefill_port')]),
                                                prefill_process) AS prefill_worker,
                                            multiIf(
                                                indexOf(fact_names, 'decode_worker') > 0, fact_values[indexOf(fact_names, 'decode_worker')],
                                                indexOf(fact_names, 'decode_host') > 0, concat(fact_values[indexOf(fact_names, 'decode_host')], ':', fact_values[indexOf(fact_names, 'decode_port')]),
                                                decode_process) AS decode_worker,
                                            if(indexOf(mark_names, 'request_start') > 0, mark_times[indexOf(mark_names, 'request_start')], arrayMin(arrayMap(k -> k.3, arrayFilter(k -> k.1 = 'engine_start', marks)))) AS t0,
                                            mark_times[indexOf(mark_names, 'request_end')] AS t_end,
                                            mark_times[indexOf(mark_names, 'decode_dispatch')] AS decode_dispatch,
                                            arrayMax(arrayPushBack(arrayMap(k -> k.3, arrayFilter(k -> k.1 = 'engine_end', marks)), 0)) AS engine_end,
                                            marks[indexOf(mark_names, 'first_token')].2 AS first_rank,
                                            mark_times[indexOf(mark_names, 'first_token')] AS first_token_raw,
                                            arrayConcat(plain, arrayFilter(i -> i.3 > 0 AND i.4 > i.3,
                                                arrayMap(r -> (r.3, r.4, mark_times[indexOf(mark_names, r.1)],
                                                    arrayMin(arrayMap(k -> k.3, arrayFilter(k -> k.1 = r.2, marks))),
                                                    toUInt8(1), r.5, r.6,
                                                    toUInt8(multiIf(if(r.3 > 0, r.3, bitCount(bitXor(r.4, r.4 - 1))) AS first_phase <= 2, 3, first_phase <= 5, 1, 2)),
                                                    multiIf(first_phase <= 2, router_process, first_phase <= 5, prefill_process, decode_process)), between))) AS ivs
                                        FROM
                                        (
                                            SELECT
                                                *,
                                                arrayMap(f -> f.1, facts) AS fact_names,
                                                arrayMap(f -> f.3, facts) AS fact_values,
                                                arrayMap(k -> k.1, marks) AS mark_names,
                                                arrayMap(k -> k.3, marks) AS mark_times
                                            FROM
                                            (
                                                SELECT
                                                    request_key,
                                                    any(first_bucket) AS first_bucket,
                                                    greatest({upto:UInt64}, max(ingest_sequence)) AS version,
                                                    length(arrayDistinct(groupArray(cityHash64(trace_id, span_id, resource_id))) AS ids) AS spans,
                                                    count() - length(ids) AS duplicate_spans,
                                                    any(before.finalized) AS finalized_before,
                                                    any(before.spans) AS spans_before,
                                                    if(finalized_before = 0, 0, spans - length(arrayDistinct(groupArrayIf(cityHash64(trace_id, span_id, resource_id), ingest_sequence <= before.finalized)))) AS late_spans,
                                                    arrayFilter(j -> j != '', [if(min(trace_id) != max(trace_id), 'request_id', ''), if(max(rule = 'shared_trace'), 'shared_trace', ''), if(max(rule != 'shared_trace'), 'trace_id', '')]) AS joined_by,
                                                    sum(impossible) AS impossible,
                                                    max(root = 1) AS has_root,
                                                    argMin(trace_id, (root != 1, start_ns, span_id)) AS root_trace,
                                                    argMin(toString(dialect), (root != 1, start_ns, span_id)) AS system,
                                                    argMaxIf(toString(process_cohort), (start_ns, span_id), process_cohort != '') AS process_cohort,
                                                    argMaxIf(worker, (start_ns, span_id), role = 1 AND notEmpty(read)) AS prefill_process,
                                                    argMaxIf(worker, (start_ns, span_id), role IN (2, 4) AND notEmpty(read)) AS decode_process,
                                                    argMinIf(worker, (start_ns, span_id), role = 3) AS router_process,
                                                    arraySort(i -> (i.3, i.1, i.4, i.2, i.5, i.6, i.7, i.8, i.9), arrayDistinct(groupArrayArray(read))) AS plain,
                                                    arraySort(k -> (k.2, k.3), groupArrayArray(arrayFilter(k -> k.4 = 0 OR k.4 = role, all_marks))) AS marks,
                                                    -- among equals the span that began last: the attempt that counted
                                                    arrayReverseSort(f -> (-f.2, f.5, f.6, f.3), groupArrayArray(arrayMap(f -> (f.1, f.2, f.3, f.4, start_ns, span_id), arrayFilter(f -> f.4 = 0 OR f.4 = role, all_facts)))) AS facts
                                                FROM
                                                (
                                                    SELECT
                                                        s.request_key AS request_key, s.first_bucket AS first_bucket, s.rule AS rule,
                                                        s.trace_id AS trace_id, s.span_id AS span_id, s.resource_id AS resource_id,
                                                        s.worker AS worker, s.cohort AS process_cohort, s.dialect AS dialect, s.root AS root,
                                                        s.start_ns AS start_ns, s.end_ns AS end_ns, s.impossible AS impossible,
                                                        s.ingest_sequence AS ingest_sequence, s.marks AS all_marks, s.facts AS all_facts,
                                                        multiIf(s.pool != 0, s.pool, c.calls != 0, c.calls, s.plays != 0, s.plays, s.guess) AS role,
                                                        arrayMap(i -> (i.1, i.2, i.3, i.4, greatest(s.attempt, 1), i.6, i.7, role, s.worker),
                                                            arrayFilter(i -> i.5 = 0 OR i.5 = role, s.intervals)) AS read
                                                    FROM batch_spans AS s
                                                    LEFT ANY JOIN (SELECT trace_id, span_id, calls FROM batch_spans WHERE calls != 0) AS c
                                                        ON s.trace_id = c.trace_id AND s.parent_id = c.span_id
                                                ) AS one
                                                LEFT ANY JOIN
                                                (
                                                    SELECT request_key, max(requests.finalized) AS finalized, argMax(requests.spans, requests.version) AS spans
                                                    FROM requests
                                                    WHERE first_bucket IN (SELECT first_bucket FROM batch_requests) AND request_key IN (SELECT request_key FROM batch_spans)
                                                    GROUP BY request_key
                                                ) AS before ON one.request_key = before.request_key
                                                GROUP BY request_key
                                                HAVING has_root OR (max(root = 2) AND max(end_ns) < {rootless_before:Int64})
                                            )
                                            -- spans outlive their retention before rows do: a row is never replaced by one made from fewer spans
                                            WHERE spans >= spans_before
                                        )
                                    )
                                )
                            )
                        )
                    )
                )
            )
        )
    )
)
