-- The spans of one request's traces for Grafana's trace panel.
SELECT
    TraceId AS traceID, SpanId AS spanID, ParentSpanId AS parentSpanID, ServiceName AS serviceName, SpanName AS operationName,
    toUnixTimestamp64Milli(Timestamp) AS startTime, Duration / 1e6 AS duration,
    arrayMap(k -> map('key', k, 'value', SpanAttributes[k]), mapKeys(SpanAttributes)) AS tags,
    arrayMap(k -> map('key', k, 'value', ResourceAttributes[k]), mapKeys(ResourceAttributes)) AS serviceTags,
    indexOf(['Ok', 'Error'], toString(StatusCode)) AS statusCode, lower(toString(SpanKind)) AS kind, StatusMessage AS statusMessage,
    arrayMap((at, name, attributes) -> tuple(name, toUnixTimestamp64Milli(at), arrayMap(k -> map('key', k, 'value', attributes[k]), mapKeys(attributes)))::Tuple(name String, timestamp Int64, fields Array(Map(String, String))),
        `Events.Timestamp`, `Events.Name`, `Events.Attributes`) AS logs
FROM otel_traces
WHERE TraceId IN (SELECT trace_id FROM request_log WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote}))
ORDER BY Timestamp
LIMIT 1 BY TraceId, SpanId
LIMIT 5000
