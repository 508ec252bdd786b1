SELECT pool, worker, model, signal, part, metric, series, time_ns, value
FROM pool_signals(from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, wanted = {signals:Array(String)})
WHERE isNotNull(value) AND ({model:String} = '' OR model IN ('', {model:String}))
ORDER BY pool, worker, model, signal, part, metric, time_ns, series
