-- Each process that sent spans, once: spans carry its id. pool is what the process itself says (pd.pool).
CREATE TABLE resources
(
    resource_id UInt64,
    service LowCardinality(String),
    instance String,
    pool LowCardinality(String),
    attrs Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    seen_at DateTime('UTC') DEFAULT now('UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY resource_id
