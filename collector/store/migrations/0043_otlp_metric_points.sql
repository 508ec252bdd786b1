-- Takes metric exports apart and says of each point whether it can be kept.
-- Exponential histograms become explicit ones, exactly: bucket i of scale s ends at 2^((i+1) * 2^-s), and that argument is exact in a
-- double, so that the bounds of a coarser scale are a subset of the finer one's. The zero bucket ends at the zero threshold; a negative
-- bucket's closed end lies below in OTLP and above here, which moves only values that equal a bound.
CREATE MATERIALIZED VIEW otlp_metric_points TO otlp_points AS
SELECT
    ingest_sequence, resource_id, worker, pool, metric, unit, kind, temporality, monotonic,
    p.1 AS time_ns, p.2 AS start_ns, p.4 AS attributes, ifNull(p.5, 0) AS value, p.6 AS count, p.7 AS sum, p.8 AS bounds, p.9 AS buckets, p.10 AS quantiles,
    multiIf(
        metric = '', 'no_name',
        bitAnd(p.3, 1) = 1 OR (kind IN ('gauge', 'sum') AND isNull(p.5)), 'no_value',
        p.1 < 946684800000000000 OR p.1 >= 4102444800000000000, 'bad_time',
        NOT isFinite(ifNull(p.5, 0)), 'not_finite',
        kind IN ('sum', 'histogram') AND temporality NOT IN (1, 2), 'no_temporality',
        NOT (empty(p.9) AND empty(p.8) OR length(p.9) = length(p.8) + 1) OR arrayExists(b -> NOT isFinite(b), p.8)
            OR arrayExists((low, high) -> low > high, arrayPopBack(p.8), arrayPopFront(p.8)), 'bad_buckets',
        '') AS reason
FROM
(
    SELECT
        ingest_sequence, resource_id, worker, pool,
        substringUTF8(m.name, 1, 256) AS metric, substringUTF8(m.unit, 1, 64) AS unit,
        multiIf(notEmpty(m.gauge.data_points), 'gauge', notEmpty(m.sum.data_points), 'sum', notEmpty(m.summary.data_points), 'summary', 'histogram') AS kind,
        multiIf(kind = 'summary', 2, greatest(m.sum.aggregation_temporality, m.histogram.aggregation_temporality, m.exponential_histogram.aggregation_temporality)) AS temporality,
        kind IN ('histogram', 'summary') OR m.sum.is_monotonic AS monotonic,
        arrayConcat(
            arrayMap(n -> (n.time_unix_nano, n.start_time_unix_nano, n.flags, n.attributes, ifNull(n.as_double, toFloat64(n.as_int)),
                toUInt64(0), CAST(NULL, 'Nullable(Float64)'), emptyArrayFloat64(), emptyArrayUInt64(), CAST([], 'Array(Tuple(Float64, Float64))')),
                arrayConcat(m.gauge.data_points, m.sum.data_points)),
            arrayMap(h -> (h.time_unix_nano, h.start_time_unix_nano, h.flags, h.attributes, CAST(NULL, 'Nullable(Float64)'),
                h.count, h.sum, h.explicit_bounds, h.bucket_counts, CAST([], 'Array(Tuple(Float64, Float64))')),
                m.histogram.data_points),
            arrayMap(e -> (e.time_unix_nano, e.start_time_unix_nano, e.flags, e.attributes, CAST(NULL, 'Nullable(Float64)'),
                e.count, e.sum,
                arrayConcat(
                    arrayReverse(arrayMap(i -> -exp2((e.negative.offset + i) * exp2(-e.scale)), range(if(empty(e.negative.bucket_counts), 0, length(e.negative.bucket_counts) + 1)))),
                    if(e.zero_threshold > 0 AND notEmpty(e.negative.bucket_counts), [-e.zero_threshold], []),
                    [e.zero_threshold],
                    arrayMap(i -> exp2((e.positive.offset + i) * exp2(-e.scale)), range(if(empty(e.positive.bucket_counts), 0, length(e.positive.bucket_counts) + 1)))),
                CAST(arrayConcat(
                    if(notEmpty(e.negative.bucket_counts), arrayConcat([0], arrayReverse(e.negative.bucket_counts)), []),
                    if(e.zero_threshold > 0 AND notEmpty(e.negative.bucket_counts), [0], []),
                    [e.zero_count],
                    if(notEmpty(e.positive.bucket_counts), arrayConcat([0], e.positive.bucket_counts), []),
                    [0]), 'Array(UInt64)'),
                CAST([], 'Array(Tuple(Float64, Float64))')),
                m.exponential_histogram.data_points),
            arrayMap(s -> (s.time_unix_nano, s.start_time_unix_nano, s.flags, s.attributes, CAST(NULL, 'Nullable(Float64)'),
                s.count, CAST(s.sum, 'Nullable(Float64)'), emptyArrayFloat64(), emptyArrayUInt64(), CAST(s.quantile_values, 'Array(Tuple(Float64, Float64))')),
                m.summary.data_points)) AS points
    FROM
    (
        SELECT
            ingest_sequence,
            cityHash64(r.resource.attributes) AS resource_id,
            ifNull(arrayFirst(a -> a.key = 'service.instance.id', r.resource.attributes).value.string_value, '') AS instance,
            if(instance != '', instance, ifNull(arrayFirst(a -> a.key = 'service.name', r.resource.attributes).value.string_value, '')) AS worker,
            ifNull(arrayFirst(a -> a.key = 'pd.pool', r.resource.attributes).value.string_value, '') AS pool,
            arrayFlatten(r.scope_metrics.metrics) AS metrics
        FROM otlp_metrics_in
        ARRAY JOIN resource_metrics AS r
    )
    ARRAY JOIN metrics AS m
)
ARRAY JOIN points AS p
