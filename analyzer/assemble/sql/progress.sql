SELECT max(ingest_sequence) FROM assembly_progress
