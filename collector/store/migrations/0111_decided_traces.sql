-- Traces on whose requests identity had to decide, by the step that decided: what analyzers that rebuild requests cannot tell from spans.
CREATE TABLE decided_traces
(
    ingest_sequence UInt64,
    trace_id FixedString(16),
    request_key FixedString(16),
    start_ns Int64,
    end_ns Int64,
    minutes Array(DateTime('UTC')),
    ingested_at DateTime('UTC') DEFAULT now('UTC')
)
ENGINE = MergeTree
ORDER BY (ingest_sequence, trace_id)
TTL ingested_at + INTERVAL 2 DAY
