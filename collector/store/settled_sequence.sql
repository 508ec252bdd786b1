-- The newest sequence that was logged long enough ago for every insert at or below it to be stored.
SELECT greatest(
    (SELECT max(ingest_sequence) FROM ingest_log WHERE ingested_at <= now('UTC') - {settle_s:UInt32}),
    (SELECT max(ingest_sequence) FROM metric_ingest_log WHERE ingested_at <= now('UTC') - {settle_s:UInt32}),
    (SELECT max(ingest_sequence) FROM assembly_progress)) AS sequence
