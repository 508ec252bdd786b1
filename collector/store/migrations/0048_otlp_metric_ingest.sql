-- Counts what the views on otlp_metrics_in keep out or drop.
CREATE MATERIALIZED VIEW otlp_metric_ingest TO metric_ingest_log AS
SELECT
    max(ingest_sequence) AS ingest_sequence,
    sum(length(reasons)) AS points,
    sum(countEqual(reasons, 'no_name')) AS no_name,
    sum(countEqual(reasons, 'no_value')) AS no_value,
    sum(countEqual(reasons, 'bad_time')) AS bad_time,
    sum(countEqual(reasons, 'not_finite')) AS not_finite,
    sum(countEqual(reasons, 'no_temporality')) AS no_temporality,
    sum(countEqual(reasons, 'bad_buckets')) AS bad_buckets,
    sum(arraySum(l -> arrayCount(a -> a.key IN private_attributes, l), labels)) AS private_labels,
    sum(arraySum(l -> greatest(length(l), 64) - 64, labels)) AS labels_over_limit,
    sum(arraySum(l -> arrayCount(a -> length(a.value.string_value) > 1024, l), labels)) AS text_over_limit
FROM
(
    SELECT
        ingest_sequence,
        arrayConcat(m.gauge.data_points.attributes, m.sum.data_points.attributes, m.histogram.data_points.attributes,
            m.exponential_histogram.data_points.attributes, m.summary.data_points.attributes) AS labels,
        m.name = '' AS nameless,
        m.sum.aggregation_temporality NOT IN (1, 2) AS no_sum_temporality,
        m.histogram.aggregation_temporality NOT IN (1, 2) AS no_histogram_temporality,
        m.exponential_histogram.aggregation_temporality NOT IN (1, 2) AS no_exponential_temporality,
        arrayConcat(
            arrayMap(p -> multiIf(nameless, 'no_name', bitAnd(p.flags, 1) = 1 OR (isNull(p.as_double) AND isNull(p.as_int)), 'no_value', p.time_unix_nano < 946684800000000000 OR p.time_unix_nano >= 4102444800000000000, 'bad_time', NOT ifNull(isFinite(p.as_double), 1), 'not_finite', ''), m.gauge.data_points),
            arrayMap(p -> multiIf(nameless, 'no_name', bitAnd(p.flags, 1) = 1 OR (isNull(p.as_double) AND isNull(p.as_int)), 'no_value', p.time_unix_nano < 946684800000000000 OR p.time_unix_nano >= 4102444800000000000, 'bad_time', NOT ifNull(isFinite(p.as_double), 1), 'not_finite', no_sum_temporality, 'no_temporality', ''), m.sum.data_points),
            arrayMap(p -> multiIf(nameless, 'no_name', bitAnd(p.flags, 1) = 1, 'no_value', p.time_unix_nano < 946684800000000000 OR p.time_unix_nano >= 4102444800000000000, 'bad_time', no_histogram_temporality, 'no_temporality',
                NOT ((empty(p.bucket_counts) AND empty(p.explicit_bounds) OR length(p.bucket_counts) = length(p.explicit_bounds) + 1)
                    AND arrayAll(b -> isFinite(b), p.explicit_bounds) AND arrayAll((a, b) -> a < b, arrayPopBack(p.explicit_bounds), arrayPopFront(p.explicit_bounds))), 'bad_buckets',
                ''), m.histogram.data_points),
            arrayMap(p -> multiIf(nameless, 'no_name', bitAnd(p.flags, 1) = 1, 'no_value', p.time_unix_nano < 946684800000000000 OR p.time_unix_nano >= 4102444800000000000, 'bad_time', no_exponential_temporality, 'no_temporality',
                NOT (isFinite(p.zero_threshold) AND p.scale >= -10 AND p.scale <= 20
                    AND isFinite(exp2((p.positive.offset + length(p.positive.bucket_counts)) * exp2(-p.scale))) AND isFinite(exp2((p.negative.offset + length(p.negative.bucket_counts)) * exp2(-p.scale)))), 'bad_buckets',
                ''), m.exponential_histogram.data_points),
            arrayMap(p -> multiIf(nameless, 'no_name', bitAnd(p.flags, 1) = 1, 'no_value', p.time_unix_nano < 946684800000000000 OR p.time_unix_nano >= 4102444800000000000, 'bad_time', ''), m.summary.data_points)
        ) AS reasons
    FROM
    (
        SELECT ingest_sequence, arrayFlatten(arrayMap(r -> arrayFlatten(r.scope_metrics.metrics), resource_metrics)) AS metrics
        FROM otlp_metrics_in
    )
    LEFT ARRAY JOIN metrics AS m
)
