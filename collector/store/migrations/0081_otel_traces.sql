-- Every stored span with the column names and types of OpenTelemetry's ClickHouse exporter, for tools made for those.
-- Not kept, and so empty: TraceState, ScopeVersion, Links.TraceState, Links.Attributes. Duration is in nanoseconds.
-- At least once, as in the exporter's own table: a client's retry may show a span twice.
CREATE VIEW otel_traces AS
SELECT
    fromUnixTimestamp64Nano(start_ns, 'UTC') AS Timestamp,
    lower(hex(trace_id)) AS TraceId,
    lower(hex(span_id)) AS SpanId,
    if(parent_id = toFixedString('', 8), '', lower(hex(parent_id))) AS ParentSpanId,
    '' AS TraceState,
    name AS SpanName,
    toLowCardinality(transform(kind, [1, 2, 3, 4, 5], ['Internal', 'Server', 'Client', 'Producer', 'Consumer'], 'Unspecified')) AS SpanKind,
    resource.service AS ServiceName,
    resource.attrs AS ResourceAttributes,
    CAST(scope, 'String') AS ScopeName,
    '' AS ScopeVersion,
    spans.attrs AS SpanAttributes,
    toUInt64(end_ns - start_ns) AS Duration,
    toLowCardinality(transform(status, [1, 2], ['Ok', 'Error'], 'Unset')) AS StatusCode,
    status_message AS StatusMessage,
    arrayMap(e -> fromUnixTimestamp64Nano(e.ns, 'UTC'), events) AS `Events.Timestamp`,
    events.name AS `Events.Name`,
    events.attrs AS `Events.Attributes`,
    arrayMap(l -> lower(hex(l.trace_id)), links) AS `Links.TraceId`,
    arrayMap(l -> lower(hex(l.span_id)), links) AS `Links.SpanId`,
    arrayMap(l -> '', links) AS `Links.TraceState`,
    arrayMap(l -> CAST(map(), 'Map(LowCardinality(String), String)'), links) AS `Links.Attributes`
FROM spans
LEFT ANY JOIN (SELECT resource_id, service, attrs FROM resources LIMIT 1 BY resource_id) AS resource ON spans.resource_id = resource.resource_id
