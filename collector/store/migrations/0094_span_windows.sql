-- Keeps trace_windows as spans come in.
CREATE MATERIALIZED VIEW span_windows TO trace_windows AS
SELECT trace_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM spans GROUP BY trace_id
