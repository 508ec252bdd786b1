-- Traces of the step that hold several requests, or spans of several tenants, or bring a request span to a request that has other traces.
SELECT trace_id
FROM {scratch:Identifier}.batch_traces
WHERE known_rule = 'shared_trace'
    OR length(tenants) > 1
    OR length(arrayDistinct(arrayConcat(roots, if(known_root = toFixedString('', 8), [], [known_root])))) > 1
    OR (known AND notEmpty(roots) AND known_rule = 'request_id')
