-- Finds the rule that each span of a step is for, by its name, the start of it (the longest first), or its scope and kind; others are
-- left out. after, upto: ingest sequences; told: events whose attributes some rule reads; what
-- they say is read from the end, where of a name said twice the first comes last.
INSERT INTO {scratch:Identifier}.batch_read
SELECT
    multiIf(
        (transform(name, {names:Array(String)}, {by_name:Array(UInt16)}, 0) AS exact) != 0, exact,
        (arrayFirst(p -> startsWith(name, p.1), {prefixes:Array(Tuple(String, UInt16))}).2 AS longest) != 0, longest,
        transform(concat(scope, ':', toString(kind)), {scopes:Array(String)}, {by_scope:Array(UInt16)}, 0)) AS rule,
    trace_id, span_id, parent_id, resource_id, start_ns, end_ns, status,
    mapKeys(attrs), mapValues(attrs), events.name, events.ns,
    if(hasAny(events.name, {told:Array(String)}),
        arrayFlatten(arrayMap(e -> arrayReverse(arrayMap((k, v) -> (concat('event:', e.name, ':', k), v), mapKeys(e.attrs), mapValues(e.attrs))), events)),
        []),
    ingest_sequence, ingested_at
FROM spans
WHERE ingest_sequence > {after:UInt64} AND ingest_sequence <= {upto:UInt64} AND rule != 0
