-- When each trace began and ended, in whole seconds (End rounded up): the table by which tools made for OpenTelemetry's
-- ClickHouse exporter narrow the window before they read otel_traces.
CREATE VIEW otel_traces_trace_id_ts AS
SELECT
    lower(hex(trace_id)) AS TraceId,
    toDateTime(intDiv(min(start_ns), 1000000000), 'UTC') AS Start,
    toDateTime(intDiv(max(end_ns) + 999999999, 1000000000), 'UTC') AS End
FROM trace_windows
GROUP BY trace_id
