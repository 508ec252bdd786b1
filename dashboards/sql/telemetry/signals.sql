-- Pool signals that arrived: from which pools and how many workers, and when last.
SELECT toString(signal) AS name, if(pool = '', 'unknown', pool) AS role, uniqExact(worker) AS workers, count() AS points, max(at) AS newest
FROM pool_signals(from_ns = toUnixTimestamp($__fromTime) * 1000000000, to_ns = toUnixTimestamp($__toTime) * 1000000000, wanted = [])
GROUP BY name, role
ORDER BY name, role
LIMIT 200
