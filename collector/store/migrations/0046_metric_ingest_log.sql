-- One row per insert of metrics: points offered and kept out by reason (each point under the first that holds), and what was dropped from kept ones.
CREATE TABLE metric_ingest_log
(
    ingest_sequence UInt64,
    ingested_at DateTime('UTC') DEFAULT now('UTC'),
    points UInt64,
    no_name UInt64,
    -- marked by the sender as holding no value, or without one
    no_value UInt64,
    bad_time UInt64,
    not_finite UInt64,
    no_temporality UInt64,
    bad_buckets UInt64,
    private_labels UInt64,
    labels_over_limit UInt64,
    text_over_limit UInt64
)
ENGINE = MergeTree
ORDER BY ingest_sequence
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
