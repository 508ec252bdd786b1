-- The objectives in force, in matching order, written when the analyzer reads them: dashboards judge by them.
-- An empty selector member matches everything. Only the newest version counts.
CREATE TABLE objectives
(
    position UInt16,
    name String,
    model String,
    route String,
    tenant String,
    input_bucket String,
    ttft_seconds Float64,
    tpot_seconds Float64,
    target Float64,
    period_days UInt16,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (version, position)
