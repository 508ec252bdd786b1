-- Why single requests missed, as of the newest count of their minutes: a row for each request that missed when it was counted.
-- A request that has met since keeps its row: readers ask judged_requests first.
CREATE TABLE request_causes_kept
(
    first_bucket DateTime('UTC') CODEC(Delta, ZSTD(1)),
    request_key FixedString(16) CODEC(NONE),
    version UInt64 CODEC(Delta, ZSTD(1)),
    -- shares, largest first, adding up to 1
    causes Map(LowCardinality(String), Float32) CODEC(ZSTD(1)),
    -- causes without which it would have met
    met_without Array(LowCardinality(String)) CODEC(ZSTD(1)),
    written_at DateTime('UTC') DEFAULT now('UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(first_bucket)
ORDER BY (first_bucket, request_key)
