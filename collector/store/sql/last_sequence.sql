-- The newest ingest sequence used. Old inserts leave the log with time; how far assembly got does not.
SELECT greatest((SELECT max(ingest_sequence) FROM ingest_log), (SELECT max(ingest_sequence) FROM assembly_progress)) AS sequence
