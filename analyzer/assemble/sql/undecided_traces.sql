-- Traces of the step that hold several requests.
SELECT trace_id
FROM batch_traces
WHERE known_rule = 'shared_trace'
    OR length(arrayDistinct(arrayConcat(roots, if(known_root = toFixedString('', 8), [], [known_root])))) > 1
