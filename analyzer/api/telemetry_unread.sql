-- Spans among the newest 2,000 exports that no rule knows, by scope and name.
SELECT scope, name, sum(spans_) AS spans
FROM
(
    SELECT toString(scope) AS scope, toString(name) AS name, kind, count() AS spans_
    FROM spans
    WHERE ingest_sequence > (SELECT max(ingest_sequence) FROM ingest_log) - 2000
    GROUP BY scope, name, kind
)
WHERE concat('name:', name) NOT IN (SELECT key FROM span_rules)
    AND concat('scope:', scope, ':', toString(kind)) NOT IN (SELECT key FROM span_rules)
    AND NOT arrayExists(p -> startsWith(name, p), (SELECT groupArray(prefix) FROM span_rules WHERE prefix != ''))
GROUP BY scope, name
ORDER BY spans DESC, scope, name
LIMIT 50
