-- Which request a name belongs to. kind: 0 a trace id, 1 a request id (hashed), 2 a request's further traces (alias is the request key).
-- request_key and first_bucket are set once; a later version only adds (a root, a minute) or redirects a merged key.
CREATE TABLE identity
(
    bucket DateTime('UTC') CODEC(Delta, ZSTD(1)),
    kind UInt8,
    alias FixedString(16),
    request_key FixedString(16),
    first_bucket DateTime('UTC'),
    -- the trace's request span, all zero while unknown
    root_span_id FixedString(8),
    -- for kind 2: the further trace; else the trace that brought the name
    trace_id FixedString(16),
    minutes Array(DateTime('UTC')),
    rule LowCardinality(String),
    version UInt64,
    ingested_at DateTime('UTC') DEFAULT now('UTC'),
    INDEX by_ingest ingested_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(bucket)
ORDER BY (bucket, kind, alias, trace_id)
