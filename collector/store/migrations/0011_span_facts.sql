-- What the rules read off each span: its phase intervals, marks and facts about the request. Derived from `spans`, rebuilt from it at will.
-- Codes: phase 1-11 as in Phase, 12 preempted, 0 composite (covers: bit n-1 for phase n); role as in Role; source 1 observed, 2 derived, 3 bounded;
-- attempt of an interval: 0 is that of its span.
-- kv: text holds status, reason, connector, transport, source, destination, rank; numbers hold bytes, tokens, descriptors,
-- already_held_tokens, post_ns, wait_ns, lease_ns, lease_s, link_gb_s, NaN where not reported.
CREATE TABLE span_facts
(
    trace_id FixedString(16) CODEC(ZSTD(1)),
    span_id FixedString(8) CODEC(NONE),
    parent_id FixedString(8) CODEC(ZSTD(1)),
    resource_id UInt64 CODEC(ZSTD(1)),
    dialect LowCardinality(String),
    root UInt8,
    calls UInt8,
    plays UInt8,
    attempt UInt8,
    -- names the attempt where it has a name instead of a number
    attempt_id String CODEC(ZSTD(1)),
    start_ns Int64 CODEC(Delta, ZSTD(1)),
    end_ns Int64 CODEC(Delta, ZSTD(1)),
    ids Array(String) CODEC(ZSTD(1)),
    intervals Array(Tuple(phase UInt8, covers UInt16, start_ns Int64, end_ns Int64, role UInt8, source UInt8, reason LowCardinality(String), attempt UInt8)) CODEC(ZSTD(1)),
    marks Array(Tuple(name LowCardinality(String), rank UInt8, ns Int64, role UInt8)) CODEC(ZSTD(1)),
    facts Array(Tuple(name LowCardinality(String), rank UInt8, value String, role UInt8)) CODEC(ZSTD(1)),
    kv Array(Tuple(event LowCardinality(String), id String, start_ns Int64, end_ns Int64, text Array(String), numbers Array(Float64))) CODEC(ZSTD(1)),
    impossible UInt8,
    ingest_sequence UInt64 CODEC(Delta, ZSTD(1)),
    ingested_at DateTime('UTC') CODEC(Delta, ZSTD(1)),
    INDEX by_sequence ingest_sequence TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(ingested_at)
ORDER BY (toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')), trace_id, start_ns)
