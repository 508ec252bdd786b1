-- Counts what otlp_spans keeps out, without taking the spans apart.
CREATE MATERIALIZED VIEW otlp_ingest TO ingest_log AS
SELECT
    any(ingest_sequence) AS ingest_sequence,
    sum(length(batch)) AS spans,
    sum(arrayCount(s -> length(s.trace_id) != 16 OR s.trace_id = unhex('00000000000000000000000000000000'), batch)) AS bad_trace_id,
    sum(arrayCount(s -> length(s.span_id) != 8 OR s.span_id = unhex('0000000000000000'), batch)) AS bad_span_id,
    sum(arrayCount(s -> s.start_time_unix_nano < 946684800000000000, batch)) AS bad_start,
    sum(arrayCount(s -> s.end_time_unix_nano >= 4102444800000000000 OR s.end_time_unix_nano < s.start_time_unix_nano, batch)) AS bad_end,
    sum(arraySum(s -> arrayCount(a -> (a.key IN private_attributes OR startsWith(a.key, 'user.') OR startsWith(a.key, 'enduser.') OR startsWith(a.key, 'gen_ai.prompt.') OR startsWith(a.key, 'gen_ai.completion.') OR (startsWith(a.key, 'llm.') AND match(a.key, '^llm\\.(prompts|completions|input_messages|output_messages|prompt_template)\\.'))), s.attributes) + arraySum(e -> arrayCount(a -> (a.key IN private_attributes OR startsWith(a.key, 'user.') OR startsWith(a.key, 'enduser.') OR startsWith(a.key, 'gen_ai.prompt.') OR startsWith(a.key, 'gen_ai.completion.') OR (startsWith(a.key, 'llm.') AND match(a.key, '^llm\\.(prompts|completions|input_messages|output_messages|prompt_template)\\.'))), e.attributes), s.events), batch)) AS private_attributes,
    sum(arraySum(s -> greatest(length(s.attributes), 128) - 128, batch)) AS attributes_over_limit,
    sum(arraySum(s -> arrayCount(a -> length(a.value.string_value) > 4096, s.attributes), batch)) AS text_over_limit
FROM
(
    SELECT ingest_sequence, arrayFlatten(arrayMap(r -> arrayFlatten(r.scope_spans.spans), resource_spans)) AS batch
    FROM otlp_in
)
