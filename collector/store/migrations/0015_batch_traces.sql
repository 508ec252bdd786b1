-- Scratch of one assembly step: the traces that its new spans touch, with what identity knows of them.
CREATE TABLE batch_traces
(
    trace_id FixedString(16),
    roots Array(FixedString(8)),
    ids Array(String),
    start_ns Int64,
    end_ns Int64,
    minutes Array(DateTime('UTC')),
    known UInt8,
    known_bucket DateTime('UTC'),
    known_key FixedString(16),
    known_first_bucket DateTime('UTC'),
    known_root FixedString(8),
    known_minutes Array(DateTime('UTC')),
    known_rule LowCardinality(String)
)
ENGINE = Memory
