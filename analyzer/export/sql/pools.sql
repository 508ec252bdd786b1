-- The newest reading of each pool signal, by pool and model: levels added up over workers, fractions averaged, ages at their largest, counters as rates.
SELECT pool, model, signal,
    multiIf(signal = 'kv_used_fraction', avg(newest), signal = 'oldest_request_age', max(newest), sum(newest)) AS value,
    count() AS workers
FROM
(
    SELECT pool, model, signal, worker, sum(part_newest) AS newest
    FROM
    (
        SELECT pool, model, signal, worker, series, part, argMax(if(isNull(rate), value, rate), time_ns) AS part_newest
        FROM pool_signals(from_ns = {from_ns:Int64}, to_ns = {to_ns:Int64}, wanted = {wanted:Array(String)})
        WHERE isNotNull(value)
        GROUP BY pool, model, signal, worker, series, part
    )
    GROUP BY pool, model, signal, worker
)
GROUP BY pool, model, signal
