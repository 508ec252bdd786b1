-- Types exponential histograms as explicit ones, exactly: bucket i of scale s ends at 2^((i+1) * 2^-s), and that argument is exact in
-- a double, so that the bounds of a coarser scale are a subset of the finer one's. The zero bucket ends at the zero threshold;
-- a negative bucket's closed end lies below in OTLP and above here, which moves only values that equal a bound.
CREATE MATERIALIZED VIEW otlp_exponentials TO signals AS
SELECT
    metric,
    cityHash64(resource_id, metric, kind, labels) AS series,
    toInt64(p.time_unix_nano) AS time_ns,
    if(p.start_time_unix_nano <= p.time_unix_nano AND p.start_time_unix_nano >= 946684800000000000, toInt64(p.start_time_unix_nano), 0) AS start_ns,
    resource_id,
    worker,
    multiIf(labels['pd.pool'] != '', labels['pd.pool'], pool) AS pool,
    multiIf(labels['model_name'] != '', labels['model_name'], labels['model'] != '', labels['model'], labels['gen_ai.request.model']) AS model,
    unit,
    labels,
    kind, temporality, monotonic,
    p.count AS count,
    if(isFinite(p.sum), p.sum, NULL) AS sum,
    arrayConcat(
        arrayReverse(arrayMap(i -> -exp2((p.negative.offset + i) * exp2(-p.scale)), range(if(empty(p.negative.bucket_counts), 0, length(p.negative.bucket_counts) + 1)))),
        if(p.zero_threshold > 0 AND notEmpty(p.negative.bucket_counts), [-p.zero_threshold], []),
        [p.zero_threshold],
        arrayMap(i -> exp2((p.positive.offset + i) * exp2(-p.scale)), range(if(empty(p.positive.bucket_counts), 0, length(p.positive.bucket_counts) + 1)))) AS bounds,
    arrayConcat(
        if(notEmpty(p.negative.bucket_counts), arrayConcat([0], arrayReverse(p.negative.bucket_counts)), []),
        if(p.zero_threshold > 0 AND notEmpty(p.negative.bucket_counts), [0], []),
        [p.zero_count],
        if(notEmpty(p.positive.bucket_counts), arrayConcat([0], p.positive.bucket_counts), []),
        [0]) AS buckets,
    ingest_sequence
FROM
(
    SELECT
        resource_id, worker, pool, metric, unit, kind, temporality, monotonic, p, ingest_sequence,
        mapSort(mapFromArrays((arrayFilter(a -> a.key NOT IN private_attributes, arraySlice(p.attributes, 1, 64)) AS kept).key, arrayMap(v -> multiIf(
                isNotNull(v.string_value), if(length(assumeNotNull(v.string_value)) > 1024, substringUTF8(assumeNotNull(v.string_value), 1, 1024), assumeNotNull(v.string_value)),
                isNotNull(v.int_value), toString(assumeNotNull(v.int_value)),
                isNotNull(v.double_value), toString(assumeNotNull(v.double_value)),
                isNotNull(v.bool_value), if(assumeNotNull(v.bool_value), 'true', 'false'),
                ''), kept.value))) AS labels
    FROM
    (
        SELECT
            resource_id, worker, pool, ingest_sequence,
            substringUTF8(m.name, 1, 256) AS metric, substringUTF8(m.unit, 1, 64) AS unit,
            'histogram' AS kind, m.exponential_histogram.aggregation_temporality AS temporality, 1 AS monotonic,
            m.exponential_histogram.data_points AS points
        FROM
        (
            SELECT
                cityHash64(r.resource.attributes) AS resource_id,
                ifNull(arrayFirst(a -> a.key = 'service.instance.id', r.resource.attributes).value.string_value, '') AS instance,
                if(instance != '', instance, ifNull(arrayFirst(a -> a.key = 'service.name', r.resource.attributes).value.string_value, '')) AS worker,
                ifNull(arrayFirst(a -> a.key = 'pd.pool', r.resource.attributes).value.string_value, '') AS pool,
                arrayFilter(m -> m.name != '' AND m.exponential_histogram.aggregation_temporality IN (1, 2), arrayFlatten(r.scope_metrics.metrics)) AS metrics,
                ingest_sequence
            FROM otlp_metrics_in
            ARRAY JOIN resource_metrics AS r
        )
        ARRAY JOIN metrics AS m
    )
    ARRAY JOIN points AS p
    WHERE p.time_unix_nano >= 946684800000000000 AND p.time_unix_nano < 4102444800000000000 AND bitAnd(p.flags, 1) = 0
        AND isFinite(p.zero_threshold) AND p.scale >= -10 AND p.scale <= 20
        AND isFinite(exp2((p.positive.offset + length(p.positive.bucket_counts)) * exp2(-p.scale))) AND isFinite(exp2((p.negative.offset + length(p.negative.bucket_counts)) * exp2(-p.scale)))
)
