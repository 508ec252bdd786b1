-- The collectors that share what is scraped, and when each was last heard of; times are the server's. Names begin with what they scrape: those that scrape the same divide it.
CREATE TABLE collectors
(
    name String,
    joined_at DateTime64(3, 'UTC'),
    seen_at DateTime64(3, 'UTC'),
    -- 1: it said that it ends
    gone UInt8
)
ENGINE = ReplacingMergeTree(seen_at)
ORDER BY name
TTL toDateTime(seen_at) + INTERVAL 1 DAY
