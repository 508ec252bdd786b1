-- Types gauges and sums. Keeps out points without a value, that are no number, or whose time cannot be right (counted by
-- otlp_metric_ingest), labels past the 64th, text past 1,024 characters and values of private attributes.
CREATE MATERIALIZED VIEW otlp_numbers TO signals AS
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
    ifNull(p.as_double, toFloat64(ifNull(p.as_int, 0))) AS value,
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
            if(notEmpty(m.sum.data_points), 'sum', 'gauge') AS kind, m.sum.aggregation_temporality AS temporality, m.sum.is_monotonic AS monotonic,
            arrayConcat(m.gauge.data_points, m.sum.data_points) AS points
        FROM
        (
            SELECT
                cityHash64(r.resource.attributes) AS resource_id,
                ifNull(arrayFirst(a -> a.key = 'service.instance.id', r.resource.attributes).value.string_value, '') AS instance,
                if(instance != '', instance, ifNull(arrayFirst(a -> a.key = 'service.name', r.resource.attributes).value.string_value, '')) AS worker,
                ifNull(arrayFirst(a -> a.key = 'pd.pool', r.resource.attributes).value.string_value, '') AS pool,
                arrayFilter(m -> m.name != '' AND (notEmpty(m.gauge.data_points) OR m.sum.aggregation_temporality IN (1, 2)), arrayFlatten(r.scope_metrics.metrics)) AS metrics,
                ingest_sequence
            FROM otlp_metrics_in
            ARRAY JOIN resource_metrics AS r
        )
        ARRAY JOIN metrics AS m
    )
    ARRAY JOIN points AS p
    WHERE p.time_unix_nano >= 946684800000000000 AND p.time_unix_nano < 4102444800000000000 AND bitAnd(p.flags, 1) = 0 AND (isNotNull(p.as_int) OR isFinite(p.as_double))
)
