SELECT
    pool, worker, model, metric, any(unit) AS unit, bounds,
    sum(h.count) AS count, sum(h.sum) AS sum, countIf(isNull(h.sum)) AS without_sum,
    sumForEach(buckets) AS buckets, sumIf(h.count, empty(h.buckets)) AS without_buckets, countIf(reset) AS resets
FROM signal_histograms(from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, wanted = {metrics:Array(String)}) AS h
WHERE {model:String} = '' OR model IN ('', {model:String})
GROUP BY pool, worker, model, metric, bounds
ORDER BY pool, worker, model, metric, bounds
