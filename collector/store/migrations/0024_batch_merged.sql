-- Scratch of one assembly step: what all spans of each request say together (columns of sql/merged.sql).
CREATE TABLE batch_merged
(
    request_key FixedString(16),
    first_bucket DateTime('UTC'),
    version UInt64,
    spans UInt64,
    duplicate_spans Int64,
    finalized_before UInt64,
    spans_before UInt16,
    late_spans Int64,
    joined_by Array(String),
    impossible UInt64,
    has_root UInt8,
    root_trace FixedString(16),
    system String,
    process_cohort String,
    prefill_process String,
    decode_process String,
    router_process String,
    plain Array(Tuple(UInt8, UInt16, Int64, Int64, UInt8, UInt8, String, UInt8, String)),
    marks Array(Tuple(
    name String,
    rank UInt8,
    ns Int64,
    role UInt8)),
    facts Array(Tuple(String, UInt8, String, UInt8, Int64, FixedString(8)))
)
ENGINE = Memory
