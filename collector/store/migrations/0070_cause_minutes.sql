-- Why requests met or missed, by the minute they started in, for the configured objectives: what dashboards and alerts read over long times.
-- cause is of the vocabulary; 'none' counts requests that met. Shares of a miss add up to 1, so requests may be fractional.
-- would_have_met: requests that would have met without this cause. excess_*: seconds that the cause added, summed; NULL where not known.
-- The analyzer recomputes whole minutes and writes them as new versions; a minute without requests is one row with an empty cause.
-- Only the newest version of a minute counts: read causes_by_minute, never this table. Age counts from the writing.
CREATE TABLE cause_minutes
(
    minute DateTime('UTC') CODEC(Delta, ZSTD(1)),
    objective LowCardinality(String),
    model LowCardinality(String),
    tenant LowCardinality(String),
    route LowCardinality(String),
    cohort LowCardinality(String),
    cause LowCardinality(String),
    requests Float64,
    would_have_met Float64,
    excess_ttft_seconds Nullable(Float64),
    excess_tpot_seconds Nullable(Float64),
    version UInt64 CODEC(Delta, ZSTD(1)),
    written_at DateTime('UTC') DEFAULT now('UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, objective, cause, model, tenant, route, cohort)
