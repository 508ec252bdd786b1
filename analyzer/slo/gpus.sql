-- Accelerators of some workers, one row each; 0 for a worker that does not say how many it has, or says what no machine has.
SELECT used.worker AS worker, max(if((toFloat64OrZero(known.attrs['pd.gpus']) AS said) BETWEEN 0 AND 1e6, said, 0)) AS gpus
FROM (SELECT arrayJoin({workers:Array(String)}) AS worker) AS used
LEFT JOIN resources AS known ON if(known.instance != '', toString(known.instance), toString(known.service)) = used.worker
GROUP BY used.worker
