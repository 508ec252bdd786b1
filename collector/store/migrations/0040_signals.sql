-- Every metric point received, under the name its sender gave it: the only record of what was exported, all signals are derived from it.
-- At least once: a client's retry may store a point again; (metric, series, time_ns) names it, readers use FINAL.
-- A series is one sending process, name, kind and set of labels. Caps on labels are in otlp_signals, which fills this table;
-- caps on distinct workers and models belong there too, before `series` is formed. Age counts from ingest.
CREATE TABLE signals
(
    metric LowCardinality(String),
    series UInt64 CODEC(ZSTD(1)),
    -- Unix nanoseconds; start_ns 0: the sender does not say since when it accumulates
    time_ns Int64 CODEC(Delta, ZSTD(1)),
    start_ns Int64 CODEC(Delta, ZSTD(1)),
    resource_id UInt64 CODEC(ZSTD(1)),
    worker LowCardinality(String),
    -- what the sender itself says; '' when it does not
    pool LowCardinality(String),
    model LowCardinality(String),
    kind Enum8('gauge' = 1, 'sum' = 2, 'histogram' = 3, 'summary' = 4),
    -- as in OTLP: 0 none (gauge, summary), 1 delta, 2 cumulative
    temporality Int8,
    monotonic UInt8,
    unit LowCardinality(String),
    labels Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    -- of a gauge or sum
    value Float64 CODEC(ZSTD(1)),
    -- of a histogram or summary; sum is null when the sender leaves it out or it is no number
    count UInt64 CODEC(ZSTD(1)),
    sum Nullable(Float64) CODEC(ZSTD(1)),
    -- buckets[i] counts values in (bounds[i-1], bounds[i]]; one bucket more than bounds
    bounds Array(Float64) CODEC(ZSTD(1)),
    buckets Array(UInt64) CODEC(ZSTD(1)),
    quantiles Array(Tuple(quantile Float64, value Float64)) CODEC(ZSTD(1)),
    ingest_sequence UInt64 CODEC(Delta, ZSTD(1)),
    ingested_at DateTime('UTC') DEFAULT now('UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(ingest_sequence)
PARTITION BY toYYYYMMDD(ingested_at)
ORDER BY (metric, intDiv(time_ns, 3600000000000), series, time_ns)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
