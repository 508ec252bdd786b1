-- How the window's timelines know each phase, by the system that served: the weakest word of any interval.
SELECT cityHash64(CAST(system, 'String')) AS system, pair.1 AS phase, argMax(pair.2, indexOf(['observed', 'derived', 'bounded'], pair.2)) AS source
FROM
(
    SELECT DISTINCT system, arrayJoin(arrayZip(intervals.phase, intervals.source))::Tuple(String, String) AS pair
    FROM requests
    WHERE tombstone = 0 AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
        AND ({model:String} = '' OR model = {model:String})
)
WHERE pair.1 != ''
GROUP BY system, phase
