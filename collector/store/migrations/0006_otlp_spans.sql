-- Types OTLP spans. Drops spans whose ids or times cannot be right (counted by otlp_ingest), values of private attributes,
-- attributes past the 128th of a span and text past 4,096 characters.
CREATE MATERIALIZED VIEW otlp_spans TO spans AS
SELECT
    toFixedString(substring(s.trace_id, 1, 16), 16) AS trace_id,
    toFixedString(substring(s.span_id, 1, 8), 8) AS span_id,
    toFixedString(if(length(s.parent_span_id) = 8, s.parent_span_id, ''), 8) AS parent_id,
    resource_id,
    scope_spans.scope.name AS scope,
    substringUTF8(s.name, 1, 256) AS name,
    s.kind AS kind,
    s.status.code AS status,
    substringUTF8(s.status.message, 1, 1024) AS status_message,
    toInt64(s.start_time_unix_nano) AS start_ns,
    toInt64(s.end_time_unix_nano) AS end_ns,
    mapFromArrays((arrayFilter(a -> NOT (a.key IN private_attributes OR startsWith(a.key, 'user.') OR startsWith(a.key, 'enduser.') OR startsWith(a.key, 'gen_ai.prompt.') OR startsWith(a.key, 'gen_ai.completion.') OR (startsWith(a.key, 'llm.') AND match(a.key, '^llm\\.(prompts|completions|input_messages|output_messages|prompt_template)\\.'))), arraySlice(s.attributes, 1, 128)) AS kept).key, arrayMap(v -> multiIf(
                isNotNull(v.string_value), if(length(assumeNotNull(v.string_value)) > 4096, substringUTF8(assumeNotNull(v.string_value), 1, 4096), assumeNotNull(v.string_value)),
                isNotNull(v.int_value), toString(assumeNotNull(v.int_value)),
                isNotNull(v.double_value), toString(assumeNotNull(v.double_value)),
                isNotNull(v.bool_value), if(assumeNotNull(v.bool_value), 'true', 'false'),
                isNotNull(v.array_value), concat('otlp:array:', base64Encode(substring(assumeNotNull(v.array_value), 1, 4096))),
                isNotNull(v.kvlist_value), concat('otlp:kvlist:', base64Encode(substring(assumeNotNull(v.kvlist_value), 1, 4096))),
                isNotNull(v.bytes_value), concat('otlp:bytes:', base64Encode(substring(assumeNotNull(v.bytes_value), 1, 4096))),
                ''), kept.value)) AS attrs,
    arrayMap(e -> (toInt64(e.time_unix_nano), substringUTF8(e.name, 1, 256),
        mapFromArrays(
            arrayFilter(a -> NOT (a.key IN private_attributes OR startsWith(a.key, 'user.') OR startsWith(a.key, 'enduser.') OR startsWith(a.key, 'gen_ai.prompt.') OR startsWith(a.key, 'gen_ai.completion.') OR (startsWith(a.key, 'llm.') AND match(a.key, '^llm\\.(prompts|completions|input_messages|output_messages|prompt_template)\\.'))), arraySlice(e.attributes, 1, 32)).key,
            arrayMap(v -> multiIf(
                isNotNull(v.string_value), if(length(assumeNotNull(v.string_value)) > 4096, substringUTF8(assumeNotNull(v.string_value), 1, 4096), assumeNotNull(v.string_value)),
                isNotNull(v.int_value), toString(assumeNotNull(v.int_value)),
                isNotNull(v.double_value), toString(assumeNotNull(v.double_value)),
                isNotNull(v.bool_value), if(assumeNotNull(v.bool_value), 'true', 'false'),
                isNotNull(v.array_value), concat('otlp:array:', base64Encode(substring(assumeNotNull(v.array_value), 1, 4096))),
                isNotNull(v.kvlist_value), concat('otlp:kvlist:', base64Encode(substring(assumeNotNull(v.kvlist_value), 1, 4096))),
                isNotNull(v.bytes_value), concat('otlp:bytes:', base64Encode(substring(assumeNotNull(v.bytes_value), 1, 4096))),
                ''), arrayFilter(a -> NOT (a.key IN private_attributes OR startsWith(a.key, 'user.') OR startsWith(a.key, 'enduser.') OR startsWith(a.key, 'gen_ai.prompt.') OR startsWith(a.key, 'gen_ai.completion.') OR (startsWith(a.key, 'llm.') AND match(a.key, '^llm\\.(prompts|completions|input_messages|output_messages|prompt_template)\\.'))), arraySlice(e.attributes, 1, 32)).value))),
        arraySlice(s.events, 1, 128)) AS events,
    arraySlice(s.links, 1, 128) AS links,
    ingest_sequence
FROM
(
    SELECT resource_id, scope_spans, ingest_sequence
    FROM
    (
        SELECT
            cityHash64(rs.resource.attributes) AS resource_id,
            rs.scope_spans AS scope_spans_of_resource,
            ingest_sequence
        FROM otlp_in
        ARRAY JOIN resource_spans AS rs
    )
    ARRAY JOIN scope_spans_of_resource AS scope_spans
)
ARRAY JOIN scope_spans.spans AS s
WHERE length(s.trace_id) = 16 AND s.trace_id != unhex('00000000000000000000000000000000')
    AND length(s.span_id) = 8 AND s.span_id != unhex('0000000000000000')
    AND s.start_time_unix_nano >= 946684800000000000 AND s.end_time_unix_nano < 4102444800000000000
    AND s.end_time_unix_nano >= s.start_time_unix_nano
