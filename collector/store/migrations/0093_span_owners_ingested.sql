-- When a row was stored, so that it can go after its time.
ALTER TABLE span_owners ADD COLUMN ingested_at DateTime('UTC') DEFAULT now('UTC')
