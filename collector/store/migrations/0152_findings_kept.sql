-- What GET /diagnosis finds about the fleet and its telemetry, five minutes and a model at a time, for the configured objectives.
-- The analyzer finds five minutes anew as a whole and writes them as a new version; without findings they are one row with an empty one.
-- Only the newest version of five minutes counts: read findings_by_five_minutes, never this table. Age counts from the writing.
CREATE TABLE findings_kept
(
    started DateTime('UTC') CODEC(Delta, ZSTD(1)),
    model LowCardinality(String),
    finding LowCardinality(String),
    severity LowCardinality(String),
    detail String CODEC(ZSTD(1)),
    -- requests it concerns; NULL where that cannot be said
    requests Nullable(UInt64),
    version UInt64 CODEC(Delta, ZSTD(1)),
    written_at DateTime('UTC') DEFAULT now('UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(started)
ORDER BY (started, model, finding)
