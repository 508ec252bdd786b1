-- Keeps each sending process once, without copying its spans.
ALTER TABLE otlp_resources MODIFY QUERY
SELECT
    cityHash64(attributes) AS resource_id,
    attrs['service.name'] AS service,
    attrs['service.instance.id'] AS instance,
    attrs['pd.pool'] AS pool,
    mapFromArrays((arrayFilter(a -> NOT (a.key IN private_attributes OR startsWith(a.key, 'user.') OR startsWith(a.key, 'enduser.') OR startsWith(a.key, 'gen_ai.prompt.') OR startsWith(a.key, 'gen_ai.completion.') OR (startsWith(a.key, 'llm.') AND match(a.key, '^llm\\.(prompts|completions|input_messages|output_messages|prompt_template)\\.'))), arraySlice(attributes, 1, 128)) AS kept).key, arrayMap(v -> multiIf(
                isNotNull(v.string_value), if(length(assumeNotNull(v.string_value)) > 4096, substringUTF8(assumeNotNull(v.string_value), 1, 4096), assumeNotNull(v.string_value)),
                isNotNull(v.int_value), toString(assumeNotNull(v.int_value)),
                isNotNull(v.double_value), toString(assumeNotNull(v.double_value)),
                isNotNull(v.bool_value), if(assumeNotNull(v.bool_value), 'true', 'false'),
                isNotNull(v.array_value), concat('otlp:array:', base64Encode(substring(assumeNotNull(v.array_value), 1, 4096))),
                isNotNull(v.kvlist_value), concat('otlp:kvlist:', base64Encode(substring(assumeNotNull(v.kvlist_value), 1, 4096))),
                isNotNull(v.bytes_value), concat('otlp:bytes:', base64Encode(substring(assumeNotNull(v.bytes_value), 1, 4096))),
                ''), kept.value)) AS attrs
FROM (SELECT arrayJoin(resource_spans.resource.attributes) AS attributes FROM otlp_in)
