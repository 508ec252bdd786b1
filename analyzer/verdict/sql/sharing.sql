-- Models whose requests went through workers of one model's requests in the window, that one among them: what they do there is what it waits for.
SELECT arraySort(groupUniqArrayArray(models)) AS models
FROM
(
    SELECT worker, groupUniqArray(CAST(model, 'String')) AS models
    FROM
    (
        SELECT DISTINCT model, prefill_worker, decode_worker FROM requests
        WHERE tombstone = 0 AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
    )
    ARRAY JOIN [CAST(prefill_worker, 'String'), CAST(decode_worker, 'String')] AS worker
    WHERE worker != ''
    GROUP BY worker
    HAVING has(models, {model:String})
)
