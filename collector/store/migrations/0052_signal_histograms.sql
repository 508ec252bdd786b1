-- What each distribution grew by since its point before: SELECT … FROM signal_histograms(from_ns = …, to_ns = …, wanted = ['vllm:nixl_xfer_time_seconds']), [] for all.
-- buckets[i] counts values in (bounds[i-1], bounds[i]], the last those above every bound. When the bounds changed, only those stay at which the
-- count before is known: bounds it had too, or inside a bucket that was empty. Empty buckets with a count: the sender gave none, or they contradict.
CREATE VIEW signal_histograms AS
SELECT
    time_ns, toDateTime64(time_ns / 1e9, 3, 'UTC') AS at, pool, worker, model, metric, unit, labels, resource_id, series,
    seconds, restarted AS reset,
    toUInt64(if(anew, point.1, growth)) AS count,
    if(anew, point.2, point.2 - sum_before) AS sum,
    if(consistent, kept, []) AS bounds,
    multiIf(NOT consistent OR empty(point.3), [],
        anew, point.3,
        arrayMap((upto, before) -> toUInt64(upto - before),
            arrayPushBack(grown, growth), arrayPushFront(grown, 0))) AS buckets
FROM
(
    SELECT
        *,
        (count, sum, buckets) AS point,
        toInt64(count) - toInt64(count_before) AS growth,
        points_before > 0 AND temporality != 1 AND (count < count_before OR (start_ns > time_before AND start_ns < time_ns)
            OR (bounds = bounds_before AND arrayExists((now, then) -> now < then, buckets, if(length(buckets) = length(buckets_before), buckets_before, buckets)))) AS restarted,
        temporality = 1 OR restarted OR points_before = 0 AS anew,
        if(anew, bounds, arrayFilter(b -> has(bounds_before, b) OR buckets_before[arrayCount(x -> x < b, bounds_before) + 1] = 0, bounds)) AS kept,
        arrayMap(b -> toInt64(arraySum(arraySlice(buckets, 1, arrayCount(x -> x <= b, bounds)))) - toInt64(arraySum(arraySlice(buckets_before, 1, arrayCount(x -> x <= b, bounds_before)))), kept) AS grown,
        anew OR (notEmpty(buckets_before) = notEmpty(buckets)
            AND arrayAll((upto, before) -> upto >= before, arrayPushBack(grown, growth), arrayPushFront(grown, 0))) AS consistent,
        nullIf(multiIf(temporality = 1 AND start_ns > 0, time_ns - start_ns, points_before > 0, time_ns - time_before, start_ns > 0, time_ns - start_ns, 0), 0) / 1e9 AS seconds
    FROM
    (
        SELECT
            s.time_ns AS time_ns, s.start_ns AS start_ns, s.temporality AS temporality, s.series AS series, s.resource_id AS resource_id,
            toString(s.metric) AS metric, toString(s.unit) AS unit, s.labels AS labels, toString(s.worker) AS worker, toString(s.model) AS model,
            s.count AS count, s.sum AS sum, s.bounds AS bounds, s.buckets AS buckets,
            arrayFirst(p -> p != '', [if(s.pool IN ('router', 'prefill', 'decode', 'colocated'), toString(s.pool), ''), process.configured,
                transform(s.labels['engine_type'], ['prefill', 'decode', 'unified'], ['prefill', 'decode', 'colocated'], ''), process.guessed]) AS pool,
            count() OVER just_before AS points_before,
            any(s.time_ns) OVER just_before AS time_before,
            any(s.count) OVER just_before AS count_before,
            any(s.sum) OVER just_before AS sum_before,
            any(s.bounds) OVER just_before AS bounds_before,
            any(s.buckets) OVER just_before AS buckets_before
        FROM
        (
            SELECT *
            FROM signals FINAL
            WHERE (empty({wanted:Array(String)}) OR metric IN {wanted:Array(String)}) AND kind IN ('histogram', 'summary')
                AND time_ns > {from_ns:Int64} - 600000000000 AND time_ns <= {to_ns:Int64}
        ) AS s
        LEFT JOIN process_pools AS process ON s.resource_id = process.resource_id
        WINDOW just_before AS (PARTITION BY s.series ORDER BY s.time_ns ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING)
    )
)
WHERE time_ns > {from_ns:Int64}
    AND (points_before > 0 OR temporality = 1 OR (start_ns > {from_ns:Int64} - 600000000000 AND start_ns < time_ns))
