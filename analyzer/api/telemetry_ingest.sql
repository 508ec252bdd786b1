-- What came in since the store was made, and what was kept out or cut on the way.
SELECT
    count() AS exports,
    sum(l.spans) AS spans_received,
    sum(l.bad_trace_id) AS bad_trace_id,
    sum(l.bad_span_id) AS bad_span_id,
    sum(l.bad_start) AS bad_start,
    sum(l.bad_end) AS bad_end,
    sum(l.private_attributes) AS private_attributes,
    sum(l.attributes_over_limit) AS attributes_over_limit,
    sum(l.text_over_limit) AS text_over_limit,
    max(ingest_sequence) AS newest_sequence,
    if(count() = 0, NULL, max(ingested_at)) AS newest_at
FROM ingest_log AS l
