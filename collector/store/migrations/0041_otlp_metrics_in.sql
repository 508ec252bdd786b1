-- Where OTLP metrics enter: nothing is kept here, the views below type what is inserted.
CREATE TABLE otlp_metrics_in
(
    resource_metrics Array(Tuple(
        resource Tuple(attributes Array(Tuple(key String, value Tuple(string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64), array_value Nullable(String), kvlist_value Nullable(String), bytes_value Nullable(String))))),
        scope_metrics Array(Tuple(
            metrics Array(Tuple(
                name String, unit String,
                gauge Tuple(data_points Array(Tuple(start_time_unix_nano UInt64, time_unix_nano UInt64, as_double Nullable(Float64), as_int Nullable(Int64), attributes Array(Tuple(key String, value Tuple(string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64)))), flags UInt32))),
                sum Tuple(data_points Array(Tuple(start_time_unix_nano UInt64, time_unix_nano UInt64, as_double Nullable(Float64), as_int Nullable(Int64), attributes Array(Tuple(key String, value Tuple(string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64)))), flags UInt32)), aggregation_temporality Int32, is_monotonic Bool),
                histogram Tuple(
                    data_points Array(Tuple(start_time_unix_nano UInt64, time_unix_nano UInt64, count UInt64, sum Nullable(Float64),
                        bucket_counts Array(UInt64), explicit_bounds Array(Float64), attributes Array(Tuple(key String, value Tuple(string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64)))), flags UInt32)),
                    aggregation_temporality Int32),
                exponential_histogram Tuple(
                    data_points Array(Tuple(start_time_unix_nano UInt64, time_unix_nano UInt64, count UInt64, sum Nullable(Float64), scale Int32, zero_count UInt64,
                        positive Tuple(offset Int32, bucket_counts Array(UInt64)), negative Tuple(offset Int32, bucket_counts Array(UInt64)),
                        attributes Array(Tuple(key String, value Tuple(string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64)))), flags UInt32, zero_threshold Float64)),
                    aggregation_temporality Int32),
                summary Tuple(
                    data_points Array(Tuple(start_time_unix_nano UInt64, time_unix_nano UInt64, count UInt64, sum Float64,
                        quantile_values Array(Tuple(quantile Float64, value Float64)), attributes Array(Tuple(key String, value Tuple(string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64)))), flags UInt32)))
            ))
        ))
    )),
    ingest_sequence UInt64
)
ENGINE = Null
