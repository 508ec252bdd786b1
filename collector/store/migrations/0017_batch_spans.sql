-- Scratch of one assembly step: every span of the requests it rebuilds, with the process that sent it, on the router's clock:
-- shift_ns was subtracted from its stamps.
CREATE TABLE batch_spans
(
    request_key FixedString(16),
    first_bucket DateTime('UTC'),
    rule LowCardinality(String),
    trace_id FixedString(16),
    span_id FixedString(8),
    parent_id FixedString(8),
    resource_id UInt64,
    worker String,
    cohort LowCardinality(String),
    pool UInt8,
    guess UInt8,
    dialect LowCardinality(String),
    root UInt8,
    calls UInt8,
    plays UInt8,
    attempt UInt8,
    attempt_id String,
    start_ns Int64,
    end_ns Int64,
    intervals Array(Tuple(phase UInt8, covers UInt16, start_ns Int64, end_ns Int64, role UInt8, source UInt8, reason LowCardinality(String), attempt UInt8)),
    marks Array(Tuple(name LowCardinality(String), rank UInt8, ns Int64, role UInt8)),
    facts Array(Tuple(name LowCardinality(String), rank UInt8, value String, role UInt8)),
    kv Array(Tuple(event LowCardinality(String), id String, start_ns Int64, end_ns Int64, text Array(String), numbers Array(Float64))),
    impossible UInt8,
    ingest_sequence UInt64,
    ingested_at DateTime('UTC'),
    shift_ns Int64
)
ENGINE = Memory
