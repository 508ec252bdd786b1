-- The life of each KV hand-off, one row per transfer and version: published, moved, imported, released, on both sides.
-- Times are Unix nanoseconds, 0 when not seen; numbers are NULL when not reported.
CREATE TABLE transfers
(
    request_key FixedString(16),
    first_bucket DateTime('UTC') CODEC(Delta, ZSTD(1)),
    transfer_id String CODEC(ZSTD(1)),
    version UInt64 CODEC(Delta, ZSTD(1)),
    tombstone UInt8 DEFAULT 0,
    producer LowCardinality(String),
    consumer LowCardinality(String),
    -- of the publish, else the transfer, else the reservation: what places the transfer in time
    at_ns Int64 CODEC(Delta, ZSTD(1)),
    published_ns Int64 CODEC(Delta, ZSTD(1)),
    -- the latest deadline of the lease, renewals included
    lease_ns Int64 CODEC(Delta, ZSTD(1)),
    asked_ns Int64 CODEC(Delta, ZSTD(1)),
    moved_ns Int64 CODEC(Delta, ZSTD(1)),
    import_start_ns Int64 CODEC(Delta, ZSTD(1)),
    imported_ns Int64 CODEC(Delta, ZSTD(1)),
    reserved_ns Int64 CODEC(Delta, ZSTD(1)),
    reserved_until_ns Int64 CODEC(Delta, ZSTD(1)),
    releases Array(Tuple(ns Int64, reason LowCardinality(String), worker LowCardinality(String), role UInt8)) CODEC(ZSTD(1)),
    -- release records beyond one per worker: logged per rank, or sent twice
    duplicate_releases UInt16,
    status LowCardinality(String),
    connector LowCardinality(String),
    transport LowCardinality(String),
    bytes Nullable(Float64),
    tokens Nullable(Float64),
    descriptors Nullable(Float64),
    already_held_tokens Nullable(Float64),
    post_ns Nullable(Float64),
    wait_ns Nullable(Float64),
    link_gb_s Nullable(Float64),
    reserved_bytes Nullable(Float64),
    reserved_tokens Nullable(Float64),
    attempt UInt8,
    INDEX placed at_ns TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(first_bucket)
ORDER BY (first_bucket, request_key, transfer_id)
