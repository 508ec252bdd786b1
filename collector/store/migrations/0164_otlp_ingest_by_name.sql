-- Counts what otlp_spans keeps out; which names are private is asked once for each name of an insert.
ALTER TABLE otlp_ingest MODIFY QUERY
SELECT
    any(ingest_sequence) AS ingest_sequence,
    sum(length(batch)) AS spans,
    sum(arrayCount(id -> length(id) != 16 OR id = unhex('00000000000000000000000000000000'), batch.trace_id)) AS bad_trace_id,
    sum(arrayCount(id -> length(id) != 8 OR id = unhex('0000000000000000'), batch.span_id)) AS bad_span_id,
    sum(arrayCount(ns -> ns < 946684800000000000, batch.start_time_unix_nano)) AS bad_start,
    sum(arrayCount((start, end) -> end >= 4102444800000000000 OR end < start, batch.start_time_unix_nano, batch.end_time_unix_nano)) AS bad_end,
    sum(arrayCount(k -> has(hidden, k), if(empty(hidden), [], names))) AS private_attributes,
    sum(arraySum(keys -> greatest(length(keys), 128) - 128, batch.attributes.key)) AS attributes_over_limit,
    sum(arrayCount(text -> length(text) > 4096, arrayFlatten(batch.attributes.value.string_value))) AS text_over_limit
FROM
(
    SELECT
        ingest_sequence,
        batch,
        arrayConcat(arrayFlatten(batch.attributes.key), arrayFlatten(batch.events.attributes.key)) AS names,
        arrayFilter(k -> k IN private_attributes OR match(k, '^(user|enduser|gen_ai\\.prompt|gen_ai\\.completion|llm\\.(prompts|completions|input_messages|output_messages|prompt_template))\\.'), arrayDistinct(names)) AS hidden
    FROM
    (
        SELECT ingest_sequence, arrayFlatten(resource_spans.scope_spans.spans) AS batch
        FROM otlp_in
    )
)
