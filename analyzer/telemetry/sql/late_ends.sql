-- Of a sample of traces with one request span: spans that end more than a second after it, by name.
WITH some AS
(
    SELECT trace_id, max(end_ns) AS ends
    FROM span_facts
    WHERE root = 1 AND start_ns >= {from_ns:Int64} AND start_ns < {to_ns:Int64}
    GROUP BY trace_id
    HAVING count() = 1
    ORDER BY cityHash64(trace_id)
    LIMIT 500
)
SELECT toString(s.name) AS name, count() AS spans, countIf(s.end_ns > some.ends + 1000000000) AS late,
    toFloat64(max(toInt64(s.end_ns) - some.ends)) / 1e9 AS worst_s
FROM spans AS s
INNER JOIN some ON s.trace_id = some.trace_id
WHERE s.start_ns >= {from_ns:Int64} AND s.start_ns < {to_ns:Int64} AND s.trace_id IN (SELECT trace_id FROM some)
GROUP BY name
HAVING late > 0
ORDER BY late DESC, name
LIMIT 20
