-- Start-up information of each worker as the labels of a metric tell it; the newest counts.
CREATE TABLE worker_info
(
    worker String,
    metric LowCardinality(String),
    labels Map(String, String),
    time_ns Int64,
    seen_at DateTime('UTC') DEFAULT now('UTC')
)
ENGINE = ReplacingMergeTree(time_ns)
ORDER BY (worker, metric)
