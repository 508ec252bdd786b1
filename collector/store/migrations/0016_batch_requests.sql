-- Scratch of one assembly step: every trace of the requests it rebuilds.
CREATE TABLE batch_requests
(
    trace_id FixedString(16),
    request_key FixedString(16),
    first_bucket DateTime('UTC'),
    minutes Array(DateTime('UTC')),
    rule LowCardinality(String)
)
ENGINE = Memory
