-- Which spans are read, written by the analyzer when it starts: key and prefix of the adapters' rules. The other columns are of earlier
-- releases, which read spans by them.
CREATE TABLE span_rules
(
    key String,
    prefix String,
    -- a span is read when all of one of these hold; empty: always
    wanted Array(Array(Tuple(String, String))),
    dialect LowCardinality(String),
    root UInt8,
    ids Array(String),
    id_form UInt8,
    calls Array(Tuple(conditions Array(Tuple(String, String)), role UInt8)),
    plays Array(Tuple(conditions Array(Tuple(String, String)), role UInt8)),
    attempt String,
    attempt_base Int8,
    attempt_id String,
    dispatches String,
    intervals Array(Tuple(
        conditions Array(Tuple(String, String)), phase UInt8, covers UInt16, role UInt8, source UInt8, reason String,
        start_anchor String, start_plus Array(Tuple(String, Float64)), end_anchor String, end_plus Array(Tuple(String, Float64)))),
    marks Array(Tuple(
        conditions Array(Tuple(String, String)), name String, rank UInt8, role UInt8,
        anchor String, plus Array(Tuple(String, Float64)))),
    facts Array(Tuple(conditions Array(Tuple(String, String)), name String, rank UInt8, role UInt8, key String, value String)),
    kv Array(Tuple(conditions Array(Tuple(String, String)), event String, id String, start_anchor String, end_anchor String, text Array(String), numbers Array(Tuple(String, Float64)))),
    attributes Array(String),
    -- events asked for, and events whose attributes are read
    events Array(String),
    told Array(String)
)
ENGINE = Memory
