-- Whether any metric point came in the window: without one, the questions to them need not be asked.
SELECT count() > 0 AS found
FROM (SELECT 1 FROM signals WHERE time_ns > {from_ns:Int64} AND time_ns <= {to_ns:Int64} LIMIT 1)
