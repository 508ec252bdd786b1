-- Keeps what such metrics say.
CREATE MATERIALIZED VIEW otlp_worker_info TO worker_info AS
SELECT
    worker,
    metric,
    mapFromArrays(attributes.key, arrayMap(v -> substringUTF8(ifNull(v.string_value, ''), 1, 256), attributes.value)) AS labels,
    toInt64(time_ns) AS time_ns
FROM otlp_points
WHERE reason = '' AND worker != '' AND metric IN (SELECT metric FROM info_rules)
