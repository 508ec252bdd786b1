-- A step's spans that some rule is for, before they are read by it; told: ('event:NAME:ATTRIBUTE', value).
CREATE TABLE batch_read
(
    rule UInt16,
    trace_id FixedString(16),
    span_id FixedString(8),
    parent_id FixedString(8),
    resource_id UInt64,
    start_ns Int64,
    end_ns Int64,
    status Int8,
    keys Array(LowCardinality(String)),
    texts Array(String),
    events Array(LowCardinality(String)),
    instants Array(Int64),
    told Array(Tuple(String, String)),
    ingest_sequence UInt64,
    ingested_at DateTime('UTC')
)
ENGINE = Memory
