-- For traces that hold several requests: which request each span belongs to.
CREATE TABLE span_owners
(
    trace_id FixedString(16),
    span_id FixedString(8),
    resource_id UInt64,
    request_key FixedString(16),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (trace_id, span_id, resource_id)
