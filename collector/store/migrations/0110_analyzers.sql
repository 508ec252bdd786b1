-- The analyzers that share this store, and when each was last heard of; times are the server's. joined_at orders them: the first one left names requests.
CREATE TABLE analyzers
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
