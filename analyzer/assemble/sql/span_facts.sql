-- Reads the spans of one step by the adapters' rules. after, upto: ingest sequences.
-- Nothing a span says may make this fail: a duration that is no number of nanoseconds (nan, inf, 1e30) is put far in the future,
-- where it is found impossible.
INSERT INTO span_facts
SELECT
    trace_id, span_id, parent_id, resource_id, dialect, root,
    arrayFirst(c -> arrayAll(w -> multiIf(w.2 = '*', mapContains(m, w.1), w.2 = '', NOT mapContains(m, w.1), m[w.1] = w.2), c.conditions), calls_rules).role AS calls,
    arrayFirst(c -> arrayAll(w -> multiIf(w.2 = '*', mapContains(m, w.1), w.2 = '', NOT mapContains(m, w.1), m[w.1] = w.2), c.conditions), plays_rules).role AS plays,
    if(attempt_key = '', 0, toUInt8(least(greatest(ifNull(toInt32OrNull(m[attempt_key]), attempt_base) - attempt_base + 1, 1), 250))) AS attempt,
    multiIf(attempt_key != '' OR attempt_id_key = '', '', attempt_id_key = '@next', '@next', m[attempt_id_key]) AS attempt_id,
    start_ns, end_ns,
    arrayFilter(id -> id != '', arrayMap(key -> multiIf(
        id_form = 0, m[key],
        startsWith(m[key], 'cmpl-'), replaceRegexpOne(if(id_form = 2, replaceRegexpOne(substring(m[key], 6), '-[0-9a-f]{8}$', ''), substring(m[key], 6)), '-[0-9]+$', ''),
        if(id_form = 2, replaceRegexpOne(replaceRegexpOne(m[key], '^chatcmpl-', ''), '-[0-9a-f]{8}$', ''), replaceRegexpOne(m[key], '^chatcmpl-', ''))), id_keys)) AS ids,
    arrayConcat(
        arrayMap(i -> (i.1, i.2, if(i.8, greatest(start_ns, least(end_ns, i.3)), i.3), if(i.8, greatest(start_ns, least(end_ns, i.4)), i.4), i.5, i.6, i.7, 0), possible),
        arrayMap(p -> (12, 0, p.2, arrayMin(arrayPushBack(arrayMap(r -> r.2, arrayFilter(e -> e.1 = 'resumed' AND e.2 > p.2 AND e.2 < end_ns, named)), end_ns)), 0, 1, '', 0),
            arrayFilter(e -> e.1 = 'preempted' AND e.2 BETWEEN start_ns AND end_ns, named)),
        -- the first attempt waited in the router since the start; a later one's queue is the instant it was sent off
        arrayMap((at, n) -> (1, 0, if(n = 1, start_ns, at), at, 0, 1, '', toUInt8(least(n, 250))), sent, arrayEnumerate(sent)))
        ::Array(Tuple(phase UInt8, covers UInt16, start_ns Int64, end_ns Int64, role UInt8, source UInt8, reason LowCardinality(String), attempt UInt8)) AS intervals,
    arrayMap(k -> (k.1, k.2, if(k.5, greatest(start_ns, least(end_ns, k.3)), k.3), k.4), possible_marks)
        ::Array(Tuple(name LowCardinality(String), rank UInt8, ns Int64, role UInt8)) AS marks,
    arrayFilter(f -> f.3 != '', arrayMap(f -> (f.name, f.rank, if(f.value != '', f.value, m[f.key]), f.role),
        arrayFilter(f -> arrayAll(w -> multiIf(w.1 = '@status', toString(status) = w.2, w.2 = '*', mapContains(m, w.1), w.2 = '', NOT mapContains(m, w.1), m[w.1] = w.2), f.conditions), fact_rules)))
        ::Array(Tuple(name LowCardinality(String), rank UInt8, value String, role UInt8)) AS facts,
    arrayMap(o -> (
        o.event, m[o.id], if(o.start_anchor = 'end', end_ns, start_ns), if(o.end_anchor = 'start', start_ns, end_ns),
        arrayMap(t -> if(startsWith(t, '='), substring(t, 2), m[t]), o.text),
        arrayMap(n -> ifNull(toFloat64OrNull(m[n.1]) * n.2, nan), o.numbers)),
        arrayFilter(o -> arrayAll(w -> multiIf(w.2 = '*', mapContains(m, w.1), w.2 = '', NOT mapContains(m, w.1), m[w.1] = w.2), o.conditions), kv_rules))
        ::Array(Tuple(event LowCardinality(String), id String, start_ns Int64, end_ns Int64, text Array(String), numbers Array(Float64))) AS kv,
    least(255, length(timed) - length(possible) + length(timed_marks) - length(possible_marks)) AS impossible,
    ingest_sequence, ingested_at
FROM
(
    SELECT
        *,
        -- A duration inside a span is neither negative nor longer than the span, and an event lies on it; 50 ms of disagreement
        -- between clocks is let pass.
        arrayFilter(i -> i.9 AND i.4 >= i.3, timed) AS possible,
        arrayFilter(k -> k.6, timed_marks) AS possible_marks
    FROM
    (
        SELECT
            *,
            arrayFilter(i -> i.3 > 0 AND i.4 > 0, arrayMap(o -> (
                o.phase, o.covers,
                if(arrayExists(p -> isNull(toFloat64OrNull(m[p.1])), o.start_plus), 0, greatest(toInt64(notEmpty(o.start_plus)),
                    multiIf(o.start_anchor = 'start', start_ns, o.start_anchor = 'end', end_ns,
                        startsWith(o.start_anchor, 'event:'), arrayFirst(e -> concat('event:', e.1) = o.start_anchor, named).2,
                        toInt64OrZero(m[substring(o.start_anchor, 6)]))
                    + ifNull(accurateCastOrNull(round(arraySum(p -> toFloat64OrZero(m[p.1]) * p.2, o.start_plus)), 'Int64'), 4000000000000000000))),
                if(arrayExists(p -> isNull(toFloat64OrNull(m[p.1])), o.end_plus), 0, greatest(toInt64(notEmpty(o.end_plus)),
                    multiIf(o.end_anchor = 'start', start_ns, o.end_anchor = 'end', end_ns,
                        startsWith(o.end_anchor, 'event:'), arrayFirst(e -> concat('event:', e.1) = o.end_anchor, named).2,
                        toInt64OrZero(m[substring(o.end_anchor, 6)]))
                    + ifNull(accurateCastOrNull(round(arraySum(p -> toFloat64OrZero(m[p.1]) * p.2, o.end_plus)), 'Int64'), 4000000000000000000))),
                o.role, o.source, o.reason, notEmpty(o.start_plus) OR notEmpty(o.end_plus) OR o.start_anchor NOT IN ('start', 'end') OR o.end_anchor NOT IN ('start', 'end'),
                arrayAll(p -> toFloat64OrZero(m[p.1]) * abs(p.2) BETWEEN -50000000 AND end_ns - start_ns + 50000000, arrayConcat(o.start_plus, o.end_plus))
                    AND arrayAll(a -> a IN ('start', 'end') OR NOT startsWith(a, 'event:') OR arrayFirst(e -> concat('event:', e.1) = a, named).2 BETWEEN start_ns - 50000000 AND end_ns + 50000000, [o.start_anchor, o.end_anchor])),
                arrayFilter(o -> arrayAll(w -> multiIf(w.1 = '@status', toString(status) = w.2, w.2 = '*', mapContains(m, w.1), w.2 = '', NOT mapContains(m, w.1), m[w.1] = w.2), o.conditions), interval_rules))) AS timed,
            arrayFilter(k -> k.3 > 0, arrayMap(o -> (
                o.name, o.rank,
                if(arrayExists(p -> isNull(toFloat64OrNull(m[p.1])), o.plus), 0, greatest(toInt64(notEmpty(o.plus)),
                    multiIf(o.anchor = 'start', start_ns, o.anchor = 'end', end_ns,
                        startsWith(o.anchor, 'event:'), arrayFirst(e -> concat('event:', e.1) = o.anchor, named).2,
                        toInt64OrZero(m[substring(o.anchor, 6)]))
                    + ifNull(accurateCastOrNull(round(arraySum(p -> toFloat64OrZero(m[p.1]) * p.2, o.plus)), 'Int64'), 4000000000000000000))),
                o.role, notEmpty(o.plus) OR o.anchor NOT IN ('start', 'end'),
                arrayAll(p -> toFloat64OrZero(m[p.1]) * abs(p.2) BETWEEN -50000000 AND end_ns - start_ns + 50000000, o.plus)
                    AND (NOT startsWith(o.anchor, 'event:') OR arrayFirst(e -> concat('event:', e.1) = o.anchor, named).2 BETWEEN start_ns - 50000000 AND end_ns + 50000000)),
                arrayFilter(o -> arrayAll(w -> multiIf(w.1 = '@status', toString(status) = w.2, w.2 = '*', mapContains(m, w.1), w.2 = '', NOT mapContains(m, w.1), m[w.1] = w.2), o.conditions), mark_rules))) AS timed_marks
        FROM
        (
            SELECT
                s.trace_id AS trace_id, s.span_id AS span_id, s.parent_id AS parent_id, s.resource_id AS resource_id,
                s.start_ns AS start_ns, s.end_ns AS end_ns, s.status AS status,
                s.ingest_sequence AS ingest_sequence, s.ingested_at AS ingested_at,
                if(empty(r.events) AND empty(t.told), s.own, mapUpdate(s.own, mapFromArrays(
                    arrayMap(k -> toLowCardinality(k), arrayConcat(arrayMap(e -> concat('@event:', e), arrayIntersect(r.events, s.named.1) AS seen), arrayDistinct(t.told.1) AS keys)),
                    arrayConcat(arrayMap(e -> '1', seen), arrayMap(k -> arrayLast(x -> x.1 = k, t.told).2, keys))))) AS m,
                s.named AS named,
                r.dialect AS dialect, r.root AS root, r.ids AS id_keys, r.id_form AS id_form,
                r.calls AS calls_rules, r.plays AS plays_rules, r.attempt AS attempt_key, r.attempt_base AS attempt_base, r.attempt_id AS attempt_id_key,
                if(r.dispatches = '', emptyArrayInt64(), arraySort(arrayMap(e -> e.2, arrayFilter(e -> e.1 = r.dispatches AND e.2 BETWEEN start_ns AND end_ns, named)))) AS sent,
                r.intervals AS interval_rules, r.marks AS mark_rules, r.facts AS fact_rules, r.kv AS kv_rules
            FROM
            (
                SELECT
                    trace_id, span_id, parent_id, resource_id, start_ns, end_ns, status, ingest_sequence, ingested_at,
                    mapFilter((k, v) -> k IN (SELECT arrayJoin(attributes) FROM {scratch:Identifier}.span_rules), attrs) AS own,
                    arrayMap(e -> (toString(e.name), e.ns), events) AS named,
                    if(concat('name:', name) IN (SELECT key FROM {scratch:Identifier}.span_rules), concat('name:', name),
                        if((arrayFirst(p -> startsWith(name, p), (SELECT arrayReverseSort(p -> length(p), groupArray(prefix)) FROM {scratch:Identifier}.span_rules WHERE prefix != '')) AS longest) != '',
                            concat('prefix:', longest), concat('scope:', scope, ':', toString(kind)))) AS rule_key
                FROM spans
                WHERE ingest_sequence > {after:UInt64} AND ingest_sequence <= {upto:UInt64}
            ) AS s
            INNER JOIN {scratch:Identifier}.span_rules AS r ON s.rule_key = r.key
            LEFT ANY JOIN
            (
                -- what the last event of a name says, for the few spans of which that is asked
                SELECT
                    trace_id, span_id, resource_id,
                    arrayFlatten(arrayMap(e -> arrayMap((k, v) -> (concat('event:', e.name, ':', k), v), mapKeys(e.attrs), mapValues(e.attrs)),
                        arrayFilter(e -> e.name IN (SELECT arrayJoin(told) FROM {scratch:Identifier}.span_rules), events))) AS told
                FROM spans
                WHERE ingest_sequence > {after:UInt64} AND ingest_sequence <= {upto:UInt64}
                    AND arrayExists(n -> n IN (SELECT arrayJoin(told) FROM {scratch:Identifier}.span_rules), events.name)
            ) AS t ON s.trace_id = t.trace_id AND s.span_id = t.span_id AND s.resource_id = t.resource_id
            WHERE empty(r.wanted) OR arrayExists(one -> arrayAll(w -> multiIf(w.2 = '*', mapContains(m, w.1), w.2 = '', NOT mapContains(m, w.1), m[w.1] = w.2), one), r.wanted)
        )
    )
)
