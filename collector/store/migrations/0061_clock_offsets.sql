-- By how much each worker's clock ran ahead of its router's, per five minutes: subtracted from its spans when requests are assembled.
-- low_ns and high_ns bound the offset; the least and greatest Int64 where a side is not bounded.
CREATE TABLE clock_offsets
(
    slice DateTime('UTC'),
    worker LowCardinality(String),
    version UInt64,
    offset_ns Int64,
    low_ns Int64,
    high_ns Int64,
    -- bounds that exclude each other: the clock jumped within the slice, or spans are wrong; nothing is shifted
    contradictory UInt8
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (slice, worker)
