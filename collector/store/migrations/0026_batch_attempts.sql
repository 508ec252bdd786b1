-- Scratch of one assembly step: which attempt each span of a request with several belongs to.
CREATE TABLE batch_attempts
(
    trace_id FixedString(16),
    span_id FixedString(8),
    resource_id UInt64,
    attempt UInt8
)
ENGINE = Memory
