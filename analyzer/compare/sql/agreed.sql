-- What some workers say of the model they run, one row per property and value.
SELECT said.1 AS property, said.2 AS value, uniqExact(worker) AS workers
FROM
(
    SELECT
        if(instance != '', toString(instance), toString(service)) AS worker,
        arrayJoin([
            ('model revision', attrs['pd.compat.model_revision']), ('tokenizer', attrs['pd.compat.tokenizer']),
            ('KV data type', attrs['pd.compat.kv_dtype'])]) AS said
    FROM resources
)
WHERE said.2 != '' AND worker IN {workers:Array(String)}
GROUP BY property, value
ORDER BY property, value
