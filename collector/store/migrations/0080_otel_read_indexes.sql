-- Lets the view otel_traces find a trace by the text of its id, and a window of time, without reading the rest: a view's
-- filter on hex text or on a DateTime64 cannot be turned round to the sort key, but it can use an index on the same expression.
ALTER TABLE spans
    ADD INDEX by_trace_text lower(hex(trace_id)) TYPE bloom_filter(0.01) GRANULARITY 4,
    ADD INDEX by_timestamp fromUnixTimestamp64Nano(start_ns, 'UTC') TYPE minmax GRANULARITY 1
