-- How far assembly got: the ingest sequence up to which every span has been taken into account.
CREATE TABLE assembly_progress (id UInt8, ingest_sequence UInt64, version UInt64)
ENGINE = ReplacingMergeTree(version)
ORDER BY id
