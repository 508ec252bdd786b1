-- The ingest sequence that a minute's count took into account: 0 for counts of earlier releases, which are done again where requests are kept.
ALTER TABLE objective_minutes_kept ADD COLUMN counted_upto UInt64 CODEC(Delta, ZSTD(1))
