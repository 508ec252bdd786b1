-- How each system's metrics are read: the adapters' rules, one row per name a metric may arrive under, written when the analyzer starts.
CREATE TABLE signal_rules
(
    metric LowCardinality(String),
    dialect LowCardinality(String),
    signal LowCardinality(String),
    -- the metric accumulates; as_rate: the signal is its rate
    counter UInt8,
    as_rate UInt8,
    reads LowCardinality(String),
    scale Float64,
    conditions Array(Tuple(String, String)),
    part String,
    part_label String,
    value_labels Array(String),
    worker_labels Array(String),
    model_label String,
    pool_label String,
    pool LowCardinality(String),
    repeated_by Array(String),
    rank UInt8,
    moves UInt8
)
ENGINE = Memory
