-- When a row was stored, so that it can go after its time.
ALTER TABLE transfers ADD COLUMN ingested_at DateTime('UTC') DEFAULT now('UTC') CODEC(Delta, ZSTD(1))
