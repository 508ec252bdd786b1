-- One million spans, nine a trace, a trace every 14.4 ms.
INSERT INTO spans (trace_id, span_id, parent_id, resource_id, scope, name, kind, status, start_ns, end_ns, attrs, ingest_sequence)
SELECT
    sipHash128(intDiv(number, 9)), reinterpretAsFixedString(sipHash64(number)), '', number % 8, 'bench',
    ['pd.request', 'pd.prefill', 'pd.decode'][number % 3 + 1], 1, 0,
    1769860800000000000 + intDiv(number, 9) * 14400000, 1769860800000000000 + intDiv(number, 9) * 14400000 + 1000000,
    map('pd.phase', toString(number % 100), 'b', 'zz'), 1
FROM numbers({offset:UInt64}, 1000000)
