-- Everything known about pairs of clocks in some slices, and what is applied there.
SELECT toUnixTimestamp(b.slice) AS slice, b.earlier AS earlier, b.later AS later, min(b.slack_ns) AS slack_ns, sum(b.seen) AS seen
FROM clock_bounds AS b
WHERE b.slice IN (SELECT toDateTime(arrayJoin({slices:Array(UInt32)}), 'UTC'))
GROUP BY b.slice, earlier, later
