-- Types explicit histograms. A sum that is no number becomes null; buckets that do not fit their bounds keep the point out.
CREATE MATERIALIZED VIEW otlp_histograms TO signals AS
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
    p.explicit_bounds AS bounds,
    p.bucket_counts AS buckets,
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
            'histogram' AS kind, m.histogram.aggregation_temporality AS temporality, 1 AS monotonic,
            m.histogram.data_points AS points
        FROM
        (
            SELECT
                cityHash64(r.resource.attributes) AS resource_id,
                ifNull(arrayFirst(a -> a.key = 'service.instance.id', r.resource.attributes).value.string_value, '') AS instance,
                if(instance != '', instance, ifNull(arrayFirst(a -> a.key = 'service.name', r.resource.attributes).value.string_value, '')) AS worker,
                ifNull(arrayFirst(a -> a.key = 'pd.pool', r.resource.attributes).value.string_value, '') AS pool,
                arrayFilter(m -> m.name != '' AND m.histogram.aggregation_temporality IN (1, 2), arrayFlatten(r.scope_metrics.metrics)) AS metrics,
                ingest_sequence
            FROM otlp_metrics_in
            ARRAY JOIN resource_metrics AS r
        )
        ARRAY JOIN metrics AS m
    )
    ARRAY JOIN points AS p
    WHERE p.time_unix_nano >= 946684800000000000 AND p.time_unix_nano < 4102444800000000000 AND bitAnd(p.flags, 1) = 0
        AND (empty(p.bucket_counts) AND empty(p.explicit_bounds) OR length(p.bucket_counts) = length(p.explicit_bounds) + 1)
        AND arrayAll(b -> isFinite(b), p.explicit_bounds) AND arrayAll((a, b) -> a < b, arrayPopBack(p.explicit_bounds), arrayPopFront(p.explicit_bounds))
)
