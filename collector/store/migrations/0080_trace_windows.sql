-- When each trace's spans began and ended (Unix nanoseconds). Sorted by the text of the id, because that is what tools ask by: a
-- filter on hex text cannot be turned round to the binary key of spans, but it can use a key on the same expression.
CREATE TABLE trace_windows
(
    trace_id FixedString(16),
    start_ns SimpleAggregateFunction(min, Int64) CODEC(ZSTD(1)),
    end_ns SimpleAggregateFunction(max, Int64) CODEC(ZSTD(1)),
    ingested_at SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now('UTC') CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMMDD(ingested_at)
PRIMARY KEY lower(hex(trace_id))
ORDER BY (lower(hex(trace_id)), trace_id)
