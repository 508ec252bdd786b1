-- One row per insert: what came in and what was refused or dropped on the way, by reason.
CREATE TABLE ingest_log
(
    ingest_sequence UInt64,
    ingested_at DateTime('UTC') DEFAULT now('UTC'),
    spans UInt64,
    bad_trace_id UInt64,
    bad_span_id UInt64,
    bad_start UInt64,
    bad_end UInt64,
    private_attributes UInt64,
    attributes_over_limit UInt64,
    text_over_limit UInt64
)
ENGINE = MergeTree
ORDER BY ingest_sequence
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
