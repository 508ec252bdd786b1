-- Metric points of every kind in one shape, on their way from otlp_metrics_in: nothing is kept here. reason: why a point is kept out, '' when it is not.
CREATE TABLE otlp_points
(
    ingest_sequence UInt64,
    resource_id UInt64,
    worker String,
    pool String,
    metric String,
    unit String,
    kind String,
    temporality Int32,
    monotonic UInt8,
    time_ns UInt64,
    start_ns UInt64,
    attributes Array(Tuple(key String, value Tuple(string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64)))),
    value Float64,
    count UInt64,
    sum Nullable(Float64),
    bounds Array(Float64),
    buckets Array(UInt64),
    quantiles Array(Tuple(quantile Float64, value Float64)),
    reason String
)
ENGINE = Null
