-- What a step's spans say. In place of MEANINGS comes what those of each rule mean, one SELECT for each form of rule (meaning.py).
-- Nothing a span says may make this fail.
INSERT INTO span_facts
(
    trace_id, span_id, parent_id, resource_id, dialect, root, calls, plays, attempt, attempt_id, start_ns, end_ns, ids, intervals, marks, facts,
    kv, impossible, ingest_sequence, ingested_at
)
SELECT
    trace_id, span_id, parent_id, resource_id, dialect, root, calls, plays, attempt, attempt_id, start_ns, end_ns,
    arrayFilter(id -> id != '', ids),
    arrayConcat(
        arrayFilter((row, said) -> said = 1, intervals, intervals_said),
        arrayMap(
            at -> (12, 0, at, arrayMin(arrayPushBack(arrayFilter((ns, name) -> name = 'resumed' AND ns > at AND ns < end_ns, instants, events), end_ns)), 0, 1, '', 0),
            arrayFilter((ns, name) -> name = 'preempted' AND ns BETWEEN start_ns AND end_ns, instants, events)),
        -- the first attempt waited in the router since the start; a later one's queue is the instant it was sent off
        arrayMap((at, n) -> (1, 0, if(n = 1, start_ns, at), at, 0, 1, '', toUInt8(least(n, 250))),
            arraySort(arrayFilter(at -> at BETWEEN start_ns AND end_ns, sent)) AS on_it, arrayEnumerate(on_it)))
        ::Array(Tuple(phase UInt8, covers UInt16, start_ns Int64, end_ns Int64, role UInt8, source UInt8, reason LowCardinality(String), attempt UInt8)),
    arrayFilter((row, said) -> said = 1, marks, marks_said)::Array(Tuple(name LowCardinality(String), rank UInt8, ns Int64, role UInt8)),
    arrayFilter((row, said) -> said, facts, facts_said)::Array(Tuple(name LowCardinality(String), rank UInt8, value String, role UInt8)),
    arrayFilter((row, said) -> said, kv, kv_said)
        ::Array(Tuple(event LowCardinality(String), id String, start_ns Int64, end_ns Int64, text Array(String), numbers Array(Float64))),
    least(255, countEqual(intervals_said, 2) + countEqual(marks_said, 2)),
    ingest_sequence, ingested_at
FROM (MEANINGS)
-- what it reads is in memory: there is nothing to plan around
SETTINGS query_plan_enable_optimizations = 0
