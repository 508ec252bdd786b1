-- Decode workers that went away, in the five minutes in which the diagnosis found it.
SELECT started AS time, 'crash' AS title, detail AS text, 'crash' AS tags
FROM findings_by_five_minutes
WHERE finding = 'decode_crash' AND $__timeFilter(started)
    AND $__conditionalAll(model IN (${model:singlequote}), $model)
ORDER BY time
LIMIT 200
