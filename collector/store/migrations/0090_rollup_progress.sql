-- Up to which version of requests the minutes have been counted, and the version the count was written as.
CREATE TABLE rollup_progress (id UInt8, requests_version UInt64, version UInt64)
ENGINE = ReplacingMergeTree(version)
ORDER BY id
