-- Traces and metrics share one series of ingest sequences.
SELECT greatest((SELECT max(ingest_sequence) FROM ingest_log), (SELECT max(ingest_sequence) FROM metric_ingest_log))
