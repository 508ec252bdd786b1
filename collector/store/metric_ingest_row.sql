SELECT * FROM metric_ingest_log WHERE ingest_sequence = {s:UInt64}
