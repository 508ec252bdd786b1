-- Where OTLP bodies enter: nothing is kept here, the views below type what is inserted.
CREATE TABLE otlp_in
(
    resource_spans Array(Tuple(
        resource Tuple(attributes Array(Tuple(key String, value Tuple(string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64), array_value Nullable(String), kvlist_value Nullable(String), bytes_value Nullable(String))))),
        scope_spans Array(Tuple(
            scope Tuple(name String, version String),
            spans Array(Tuple(
                trace_id String, span_id String, parent_span_id String, name String, kind Int32,
                start_time_unix_nano UInt64, end_time_unix_nano UInt64,
                attributes Array(Tuple(key String, value Tuple(string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64), array_value Nullable(String), kvlist_value Nullable(String), bytes_value Nullable(String)))),
                events Array(Tuple(time_unix_nano UInt64, name String, attributes Array(Tuple(key String, value Tuple(string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64), array_value Nullable(String), kvlist_value Nullable(String), bytes_value Nullable(String)))))),
                links Array(Tuple(trace_id String, span_id String)),
                status Tuple(message String, code Int32)
            ))
        ))
    )),
    ingest_sequence UInt64
)
ENGINE = Null
