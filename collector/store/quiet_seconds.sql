-- Whole seconds since anyone stored spans; decades when nobody has.
SELECT toInt64(toUnixTimestamp(now('UTC'))) - toInt64(toUnixTimestamp(max(ingested_at))) AS seconds FROM ingest_log
