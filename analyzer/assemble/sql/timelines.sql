-- Finds each request's instants, outcome, attempts and intervals from what its spans say together.
INSERT INTO {scratch:Identifier}.batch_timelines
(
    request_key, first_bucket, version, spans, duplicate_spans, finalized_before, spans_before, late_spans,
    joined_by, impossible, has_root, root_trace, system, process_cohort, prefill_process, decode_process,
    router_process, request_id, client_request_id, conversation_id, model, tenant, route, cohort,
    outcome_fact, finish_reason, http_status, input_tokens, output_tokens, cached_tokens, stalled,
    stalled_seen, itl_p50_ms, itl_p99_ms, itl_max_ms, local_prompt_tokens, local_prompt_reason,
    first_token_by, receipt, prefill_worker, decode_worker, t0, t_end, decode_dispatch, engine_end,
    first_rank, first_token_raw, ivs, first_token, last_token, presumed_cancelled, outcome, d0, d1, attempts,
    dispatches, comps, masked, t1, retry_start, retry_end, lanes, units
)
WITH
    (SELECT groupArray((start, end, phase, covers, source, reason)) FROM {scratch:Identifier}.mark_rules WHERE phase != 12) AS between,
    -- a request that was put off (12) goes on at the first end after that, each time
    (SELECT groupArray((start, end, phase, covers, source, reason)) FROM {scratch:Identifier}.mark_rules WHERE phase = 12) AS put_off,
    (SELECT groupArray((worker, first_ns, last_ns)) FROM {scratch:Identifier}.worker_life) AS lives,
    ['admission_ms', 'deadline_ns', 'engine_ttft_ms', 'error_type', 'kv_transfer_estimated_ms', 'output_tokens_by', 'route_candidates', 'route_fallback', 'route_reason', 'route_rejected'] AS receipt_names
SELECT
    request_key, first_bucket, version, spans, duplicate_spans, finalized_before, spans_before, late_spans,
    joined_by, impossible, has_root, root_trace, system, process_cohort, prefill_process, decode_process,
    router_process, request_id, client_request_id, conversation_id, model, tenant, route, cohort,
    outcome_fact, finish_reason, http_status, input_tokens, output_tokens, cached_tokens, stalled,
    stalled_seen, itl_p50_ms, itl_p99_ms, itl_max_ms, local_prompt_tokens, local_prompt_reason,
    first_token_by, receipt, prefill_worker, decode_worker, t0, t_end, decode_dispatch, engine_end,
    first_rank, first_token_raw, ivs, first_token, last_token, presumed_cancelled, outcome, d0, d1, attempts,
    dispatches, comps, masked, t1, retry_start, retry_end, lanes, units
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
                http_status IN (429, 503, 529), 'rejected',
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
                    indexOf(fact_names, 'stalled_ms') > 0 AS stalled_seen,
                    toFloat64OrNull(fact_values[indexOf(fact_names, 'itl_p50_ms')]) AS itl_p50_ms,
                    toFloat64OrNull(fact_values[indexOf(fact_names, 'itl_p99_ms')]) AS itl_p99_ms,
                    toFloat64OrNull(fact_values[indexOf(fact_names, 'itl_max_ms')]) AS itl_max_ms,
                    toUInt32OrNull(fact_values[indexOf(fact_names, 'local_prompt_tokens')]) AS local_prompt_tokens,
                    fact_values[indexOf(fact_names, 'local_prompt_reason')] AS local_prompt_reason,
                    fact_values[indexOf(fact_names, 'first_token_by')] AS first_token_by,
                    mapFilter((k, v) -> v != '', mapFromArrays(receipt_names, arrayMap(n -> fact_values[indexOf(fact_names, n)], receipt_names))) AS receipt,
                    multiIf(
                        indexOf(fact_names, 'prefill_worker') > 0, replaceRegexpOne(fact_values[indexOf(fact_names, 'prefill_worker')], '^https?://', ''),
                        indexOf(fact_names, 'prefill_host') > 0, concat(fact_values[indexOf(fact_names, 'prefill_host')], ':', fact_values[indexOf(fact_names, 'prefill_port')]),
                        prefill_process) AS prefill_worker,
                    multiIf(
                        indexOf(fact_names, 'decode_worker') > 0, replaceRegexpOne(fact_values[indexOf(fact_names, 'decode_worker')], '^https?://', ''),
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
                            toUInt8(multiIf(if(r.3 > 0, r.3, toUInt8(floor(log2(greatest(r.4, 1)))) + 1) AS last_phase <= 2, 3, last_phase <= 5, 1, 2)),
                            multiIf(last_phase <= 2, router_process, last_phase <= 5, prefill_process, decode_process)), between)),
                        arrayFlatten(arrayMap((r, spells) ->
                            arrayMap(e -> (r.3, r.4, arrayMin(arrayMap(k -> k.1, arrayFilter(k -> k.2 = e, spells))), e, toUInt8(1), r.5, r.6, toUInt8(2), decode_process),
                                arrayDistinct(arrayMap(k -> k.2, spells))),
                            put_off,
                            arrayMap(r -> arrayFilter(k -> k.2 > 0, arrayMap(s -> (s.3, arrayMin(arrayMap(k -> k.3, arrayFilter(k -> k.1 = r.2 AND k.3 > s.3, marks)))),
                                arrayFilter(s -> s.1 = r.1, marks))), put_off)))) AS ivs
                FROM
                (
                    SELECT
                        *,
                        marks.name AS mark_names,
                        marks.ns AS mark_times
                    FROM {scratch:Identifier}.batch_merged
                    -- spans outlive their retention before rows do: a row is never replaced by one made from fewer spans, unless identity moved some
                    WHERE spans >= spans_before OR request_key IN (SELECT toFixedString(unhex(arrayJoin({decided:Array(String)})), 16))
                )
            )
        )
    )
)
-- what it reads is in memory: there is nothing to plan around
SETTINGS query_plan_enable_optimizations = 0
