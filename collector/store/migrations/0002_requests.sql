-- Assembled requests: one row per request and version; the highest version wins (read with FINAL).
-- The sort key never changes for a request: first_bucket and request_key are set once by identity.
-- version is the ingest sequence of the newest span taken into account, not a clock.
CREATE TABLE requests
(
    request_key FixedString(16),
    first_bucket DateTime('UTC') CODEC(Delta, ZSTD(1)),
    version UInt64 CODEC(Delta, ZSTD(1)),
    tombstone UInt8 DEFAULT 0,

    request_id String CODEC(ZSTD(1)),
    client_request_id String CODEC(ZSTD(1)),
    trace_id FixedString(16),
    conversation_id String CODEC(ZSTD(1)),
    system LowCardinality(String),
    model LowCardinality(String),
    tenant LowCardinality(String),
    route LowCardinality(String),
    cohort LowCardinality(String),
    prefill_worker LowCardinality(String),
    decode_worker LowCardinality(String),
    -- the process behind decode_worker: tells a restarted worker from one that lived on
    decode_process LowCardinality(String),

    started_at DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    ended_at Nullable(DateTime64(9, 'UTC')) CODEC(ZSTD(1)),
    -- ok, cancelled, interrupted, rejected, invalid, timeout, error; empty while nothing says how it ended
    outcome LowCardinality(String),
    finish_reason LowCardinality(String),
    http_status UInt16,
    complete UInt8,
    censored UInt8,
    attempts UInt8,

    -- what the client or router measured between content chunks, milliseconds
    itl_p50_ms Nullable(Float64) CODEC(ZSTD(1)),
    itl_p99_ms Nullable(Float64) CODEC(ZSTD(1)),
    itl_max_ms Nullable(Float64) CODEC(ZSTD(1)),
    stalled_ns Nullable(Int64) CODEC(ZSTD(1)),
    -- prompt tokens computed on the decode worker, and why: recompute or append
    local_prompt_tokens Nullable(UInt32) CODEC(ZSTD(1)),
    local_prompt_reason LowCardinality(String),
    first_token_by LowCardinality(String),
    -- the route receipt and other properties that are only shown
    receipt Map(LowCardinality(String), String) CODEC(ZSTD(1)),

    input_tokens Nullable(UInt32) CODEC(ZSTD(1)),
    output_tokens Nullable(UInt32) CODEC(ZSTD(1)),
    cached_tokens Nullable(UInt32) CODEC(ZSTD(1)),

    -- first_token_at is null when no first token was seen; ttft_ns is then the request's age if censored
    first_token_at Nullable(DateTime64(9, 'UTC')) CODEC(ZSTD(1)),
    last_token_at Nullable(DateTime64(9, 'UTC')) CODEC(ZSTD(1)),
    ttft_ns Nullable(Int64) CODEC(ZSTD(1)),
    -- router_first_token, engine_first_token, client; empty when ttft_ns is null
    ttft_source LowCardinality(String),
    ttft_uncertainty_ns Nullable(Int64) CODEC(ZSTD(1)),
    tpot_ns Nullable(Float64) CODEC(ZSTD(1)),
    e2e_ns Nullable(Int64) CODEC(ZSTD(1)),

    -- twelve values, in the order of TTFT_PARTS; they add up to ttft_ns. Empty when ttft_ns is null
    exposed_ns Array(UInt64) CODEC(ZSTD(1)),
    -- six values, in the order of DECODE_PARTS; they add up to last_token - first_token. Empty when undefined
    exposed_decode_ns Array(UInt64) CODEC(ZSTD(1)),
    -- eleven values, in the order of Phase: the phase's own duration (union of its intervals)
    phase_ns Array(UInt64) CODEC(ZSTD(1)),
    -- time of TTFT that only composites cover: part of unattributed, named by what they cover
    composites Array(Tuple(covers Array(LowCardinality(String)), exposed_ns UInt64, reason LowCardinality(String))) CODEC(ZSTD(1)),
    intervals Array(Tuple(phase LowCardinality(String), covers Array(LowCardinality(String)), start_ns Int64, end_ns Int64,
        worker LowCardinality(String), attempt UInt8, source LowCardinality(String), reason LowCardinality(String))) CODEC(ZSTD(1)),

    spans UInt16,
    duplicate_spans UInt16,
    late_spans UInt16,
    -- ingest sequence at which the request was first complete; 0 while it is not
    finalized UInt64,
    joined_by Array(LowCardinality(String)) CODEC(ZSTD(1)),
    notes Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ingested_at DateTime('UTC') DEFAULT now('UTC') CODEC(Delta, ZSTD(1)),

    INDEX started started_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(first_bucket)
ORDER BY (first_bucket, request_key)
