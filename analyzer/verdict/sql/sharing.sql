-- Models whose requests went through workers of one model's requests in the window, that one among them: what they do there is what it waits for.
SELECT arraySort(groupUniqArrayArray(models)) AS models
FROM
(
    SELECT worker, groupUniqArray(model) AS models
    FROM
    (
        SELECT DISTINCT CAST(model, 'String') AS model, arrayJoin([CAST(prefill_worker, 'String'), CAST(decode_worker, 'String')]) AS worker
        FROM requests
        WHERE tombstone = 0 AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
    )
    WHERE worker != ''
    GROUP BY worker
    HAVING has(models, {model:String})
)
