-- Keeps the good points. Drops labels past the 64th, text past 1,024 characters and values of private attributes (counted by otlp_metric_ingest);
-- a sum that is no number becomes null.
CREATE MATERIALIZED VIEW otlp_signals TO signals AS
SELECT
    metric,
    cityHash64(resource_id, metric, kind, labels) AS series,
    toInt64(p.time_ns) AS time_ns,
    if(p.start_ns <= p.time_ns AND p.start_ns >= 946684800000000000, toInt64(p.start_ns), 0) AS start_ns,
    resource_id,
    worker,
    if(labels['pd.pool'] != '', labels['pd.pool'], p.pool) AS pool,
    multiIf(labels['model_name'] != '', labels['model_name'], labels['model'] != '', labels['model'], labels['gen_ai.request.model']) AS model,
    kind,
    p.temporality AS temporality,
    monotonic,
    unit,
    mapSort(mapFromArrays((arrayFilter(a -> a.key NOT IN private_attributes, arraySlice(attributes, 1, 64)) AS kept).key, arrayMap(v -> multiIf(
                isNotNull(v.string_value), if(length(assumeNotNull(v.string_value)) > 1024, substringUTF8(assumeNotNull(v.string_value), 1, 1024), assumeNotNull(v.string_value)),
                isNotNull(v.int_value), toString(assumeNotNull(v.int_value)),
                isNotNull(v.double_value), toString(assumeNotNull(v.double_value)),
                isNotNull(v.bool_value), if(assumeNotNull(v.bool_value), 'true', 'false'),
                ''), kept.value))) AS labels,
    value,
    count,
    if(isFinite(p.sum), p.sum, NULL) AS sum,
    bounds,
    buckets,
    arrayFilter(q -> isFinite(q.value), p.quantiles) AS quantiles,
    ingest_sequence
FROM otlp_points AS p
WHERE reason = ''
