-- What became of the requests of each minute, per configured objective and label: kept long after the requests are gone.
-- A minute is the request's first_bucket, which never changes. A minute is always counted anew as a whole, as a new version;
-- only rows of a minute's newest version count (a row with an empty objective says that nothing else is left of the minute).
CREATE TABLE objective_minutes_kept
(
    minute DateTime('UTC') CODEC(Delta, ZSTD(1)),
    objective LowCardinality(String),
    model LowCardinality(String),
    tenant LowCardinality(String),
    route LowCardinality(String),
    cohort LowCardinality(String),
    input_bucket LowCardinality(String),
    version UInt64 CODEC(Delta, ZSTD(1)),
    -- the objective as it was when the minute was counted
    ttft_limit_seconds Float64,
    tpot_limit_seconds Float64,
    target Float64,
    total UInt64 CODEC(ZSTD(1)),
    evaluated UInt64 CODEC(ZSTD(1)),
    met UInt64 CODEC(ZSTD(1)),
    missed UInt64 CODEC(ZSTD(1)),
    met_ttft UInt64 CODEC(ZSTD(1)),
    met_tpot UInt64 CODEC(ZSTD(1)),
    rejected UInt64 CODEC(ZSTD(1)),
    errored UInt64 CODEC(ZSTD(1)),
    cancelled UInt64 CODEC(ZSTD(1)),
    invalid UInt64 CODEC(ZSTD(1)),
    incomplete UInt64 CODEC(ZSTD(1)),
    answered UInt64 CODEC(ZSTD(1)),
    input_tokens UInt64 CODEC(ZSTD(1)),
    output_tokens UInt64 CODEC(ZSTD(1)),
    -- missed requests by primary cause
    causes Map(LowCardinality(String), UInt64) CODEC(ZSTD(1)),
    computed_at DateTime('UTC') DEFAULT now('UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, objective, model, tenant, route, cohort, input_bucket)
