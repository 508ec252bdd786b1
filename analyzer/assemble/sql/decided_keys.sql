-- Requests that identity decided on in some steps. after, upto: ingest sequences.
SELECT DISTINCT request_key FROM decided_traces WHERE ingest_sequence > {after:UInt64} AND ingest_sequence <= {upto:UInt64}
