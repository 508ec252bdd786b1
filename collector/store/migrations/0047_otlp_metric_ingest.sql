-- Counts what came in, what was kept out and what was dropped from kept points.
CREATE MATERIALIZED VIEW otlp_metric_ingest TO metric_ingest_log AS
SELECT
    max(ingest_sequence) AS ingest_sequence,
    count() AS points,
    countIf(reason = 'no_name') AS no_name,
    countIf(reason = 'no_value') AS no_value,
    countIf(reason = 'bad_time') AS bad_time,
    countIf(reason = 'not_finite') AS not_finite,
    countIf(reason = 'no_temporality') AS no_temporality,
    countIf(reason = 'bad_buckets') AS bad_buckets,
    sum(arrayCount(a -> a.key IN private_attributes, attributes)) AS private_labels,
    sum(greatest(length(attributes), 64) - 64) AS labels_over_limit,
    sum(arrayCount(a -> length(a.value.string_value) > 1024, attributes)) AS text_over_limit
FROM otlp_points
GROUP BY otlp_points.ingest_sequence
