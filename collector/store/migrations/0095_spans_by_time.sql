-- Lets otel_traces read a window of time by its Timestamp: spans lie in order of their minute, so one or two granules are left.
ALTER TABLE spans ADD INDEX by_timestamp fromUnixTimestamp64Nano(start_ns, 'UTC') TYPE minmax GRANULARITY 1
