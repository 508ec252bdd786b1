-- The newest ingest sequence used; traces and metrics share one series. Old inserts leave the logs with time, how far assembly
-- got does not.
SELECT greatest(
    (SELECT max(ingest_sequence) FROM ingest_log),
    (SELECT max(ingest_sequence) FROM metric_ingest_log),
    (SELECT max(ingest_sequence) FROM assembly_progress)) AS sequence
