-- Accelerators of some workers; unknown counts those that do not say how many they have.
SELECT sum(accelerators) AS gpus, countIf(accelerators = 0) AS unknown
FROM
(
    SELECT used.worker, max(toUInt32OrZero(known.attrs['pd.gpus'])) AS accelerators
    FROM (SELECT arrayJoin({workers:Array(String)}) AS worker) AS used
    LEFT JOIN resources AS known ON known.instance = used.worker
    GROUP BY used.worker
)
