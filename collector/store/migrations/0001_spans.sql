-- Every received span, whatever its dialect, with its events. The only record of what was observed: all else is derived from it.
-- At least once: a client's retry may store a span twice; readers de-duplicate on (trace_id, span_id, resource_id).
-- Ordered by minute and trace so that one request's spans lie together and recent requests lie close.
CREATE TABLE spans
(
    trace_id FixedString(16) CODEC(ZSTD(1)),
    span_id FixedString(8) CODEC(NONE),
    parent_id FixedString(8) CODEC(ZSTD(1)),
    resource_id UInt64 CODEC(ZSTD(1)),
    scope LowCardinality(String),
    name LowCardinality(String),
    -- as in OTLP: 1 internal, 2 server, 3 client, 4 producer, 5 consumer
    kind Int8,
    -- as in OTLP: 0 unset, 1 ok, 2 error
    status Int8,
    status_message String CODEC(ZSTD(1)),
    start_ns Int64 CODEC(Delta, ZSTD(1)),
    end_ns Int64 CODEC(Delta, ZSTD(1)),
    attrs Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    events Array(Tuple(ns Int64, name LowCardinality(String), attrs Map(LowCardinality(String), String))) CODEC(ZSTD(1)),
    links Array(Tuple(trace_id String, span_id String)) CODEC(ZSTD(1)),
    ingest_sequence UInt64 CODEC(Delta, ZSTD(1)),
    ingested_at DateTime('UTC') DEFAULT now('UTC') CODEC(Delta, ZSTD(1)),
    INDEX by_sequence ingest_sequence TYPE minmax GRANULARITY 1,
    INDEX by_trace trace_id TYPE bloom_filter(0.01) GRANULARITY 4
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(ingested_at)
ORDER BY (toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')), trace_id, start_ns)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
