-- Puts together what the spans of one step's requests say: roles, intervals, marks and facts.
INSERT INTO {scratch:Identifier}.batch_merged
(
    request_key, first_bucket, version, spans, duplicate_spans, finalized_before, spans_before, late_spans, joined_by, impossible, has_root,
    root_trace, system, process_cohort, prefill_process, decode_process, router_process, plain, marks, fact_names, fact_values
)
SELECT
    request_key,
    min(first_bucket) AS first_bucket,
    greatest({upto:UInt64}, max(ingest_sequence)) AS version,
    length(arrayDistinct(groupArray(cityHash64(trace_id, span_id, resource_id))) AS ids) AS spans,
    count() - length(ids) AS duplicate_spans,
    any(before.finalized) AS finalized_before,
    any(before.spans) AS spans_before,
    -- late is what came clearly after the rest: exporters flush every few seconds, and a request may be complete before its last flush
    length(arrayDistinct(arrayMap(a -> a.1, arrayFilter(
        a -> NOT a.2 AND a.3 >= arrayMax(b -> if(b.2, b.3, 0), arrived) + {late_after_s:UInt32} AND NOT has(arrayMap(b -> b.1, arrayFilter(b -> b.2, arrived)), a.1),
        groupArrayIf((cityHash64(trace_id, span_id, resource_id), ingest_sequence <= before.finalized, toUnixTimestamp(ingested_at)), before.finalized > 0) AS arrived)))) AS late_spans,
    arrayFilter(j -> j != '', [if(min(trace_id) != max(trace_id), 'request_id', ''), if(max(rule = 'shared_trace'), 'shared_trace', ''), if(max(rule != 'shared_trace'), 'trace_id', '')]) AS joined_by,
    sum(impossible) AS impossible,
    max(root = 1) AS has_root,
    argMin(trace_id, bitOr(began, bitShiftLeft(toUInt256(root != 1), 128))) AS root_trace,
    -- a tap's or a router's own span tells the request; what served it is whose other spans these are
    argMin(toString(dialect), bitOr(began, bitShiftLeft(toUInt256((dialect = 'native') * 2 + (root != 1)), 128))) AS system,
    argMaxIf(toString(process_cohort), began, process_cohort != '') AS process_cohort,
    argMaxIf(worker, began, role = 1 AND notEmpty(read)) AS prefill_process,
    argMaxIf(worker, began, role IN (2, 4) AND notEmpty(read)) AS decode_process,
    argMinIf(worker, began, role = 3) AS router_process,
    arraySort(i -> (i.3, i.1, i.4, i.2, i.5, i.6, i.7, i.8, i.9), arrayDistinct(groupArrayArray(read))) AS plain,
    arraySort(k -> (k.2, k.3), groupArrayArray(arrayFilter(k -> k.4 = 0 OR k.4 = role, all_marks))) AS marks,
    -- among equals the span that began last: the attempt that counted
    (arrayReverseSort(f -> (-f.2, f.4, f.3), groupArrayArray(arrayMap(f -> (f.1, f.2, f.3, began), arrayFilter(f -> f.4 = 0 OR f.4 = role, all_facts)))) AS facts).1 AS fact_names,
    facts.3 AS fact_values
FROM
(
    SELECT
        s.request_key AS request_key, s.first_bucket AS first_bucket, s.rule AS rule,
        s.trace_id AS trace_id, s.span_id AS span_id, s.resource_id AS resource_id,
        s.worker AS worker, s.cohort AS process_cohort, s.dialect AS dialect, s.root AS root,
        -- orders spans by when they began, and equals by their ids: one number is compared many times faster than a tuple
        bitOr(bitShiftLeft(toUInt128(bitXor(reinterpretAsUInt64(s.start_ns), 9223372036854775808)), 64), reinterpretAsUInt64(reverse(s.span_id))) AS began,
        s.end_ns AS end_ns, s.impossible AS impossible,
        arrayExists(e -> e.1 = 'release' AND e.5[2] = 'expired', s.kv) AS ran_out,
        arrayExists(e -> e.1 IN ('transfer', 'import'), s.kv) AS moved,
        arrayMax(arrayMap(e -> if(e.1 = 'publish', greatest(ifNotFinite(e.6[7], 0), ifNotFinite(e.4 + e.6[8] * 1e9, 0)), 0), s.kv)) AS lease_end,
        s.ingest_sequence AS ingest_sequence, s.ingested_at AS ingested_at, s.marks AS all_marks, s.facts AS all_facts,
        multiIf(s.pool != 0, s.pool, s.plays = 3, 3, c.calls != 0, c.calls, s.plays != 0, s.plays, s.guess) AS role,
        arrayMap(i -> (i.1, i.2, i.3, i.4, if(i.8 > 0, i.8, greatest(s.attempt, a.attempt, 1)), i.6, i.7, role, s.worker),
            arrayFilter(i -> i.5 = 0 OR i.5 = role, s.intervals)) AS read
    FROM {scratch:Identifier}.batch_spans AS s
    LEFT ANY JOIN (SELECT request_key, trace_id, span_id, calls FROM {scratch:Identifier}.batch_spans WHERE calls != 0) AS c
        ON s.request_key = c.request_key AND s.trace_id = c.trace_id AND s.parent_id = c.span_id
    LEFT ANY JOIN {scratch:Identifier}.batch_attempts AS a ON s.trace_id = a.trace_id AND s.span_id = a.span_id AND s.resource_id = a.resource_id
) AS one
LEFT ANY JOIN
(
    SELECT request_key, max(requests.finalized) AS finalized, argMax(requests.spans, requests.version) AS spans
    FROM requests
    WHERE first_bucket IN (SELECT first_bucket FROM {scratch:Identifier}.batch_requests) AND request_key IN (SELECT request_key FROM {scratch:Identifier}.batch_spans)
    GROUP BY request_key
) AS before ON one.request_key = before.request_key
GROUP BY request_key
-- a request whose KV ran out unread is not waited for: what is held for nobody must be named now, whether its producer says so or its last deadline
HAVING has_root OR (max(root = 2) AND (
    max(end_ns) < {rootless_before:Int64} OR max(ran_out)
    OR (max(lease_end) > 0 AND max(lease_end) < {unread_before:Int64} AND NOT max(moved))))
