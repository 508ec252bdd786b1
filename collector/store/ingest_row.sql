SELECT * FROM ingest_log WHERE ingest_sequence = {s:UInt64}
