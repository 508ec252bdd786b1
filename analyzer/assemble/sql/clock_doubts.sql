-- Slices of the step in which stamps contradict causality beyond what clocks that are kept in step differ by.
SELECT DISTINCT toUnixTimestamp(slice) AS slice
FROM clock_bounds
WHERE slice IN (SELECT DISTINCT toStartOfFiveMinutes(first_bucket) FROM {scratch:Identifier}.batch_spans) AND slack_ns < -{tolerance_ns:Int64}
