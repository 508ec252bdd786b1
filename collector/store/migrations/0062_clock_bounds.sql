-- What causality says about pairs of clocks, per five minutes: an instant on `earlier`'s clock came before one on `later`'s, and by their
-- stamps the least time between the two was slack_ns. Below zero the clocks differ by at least as much.
CREATE TABLE clock_bounds
(
    slice DateTime('UTC'),
    earlier LowCardinality(String),
    later LowCardinality(String),
    slack_ns SimpleAggregateFunction(min, Int64),
    seen SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY (slice, earlier, later)
