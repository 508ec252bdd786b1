-- By how much workers' clocks ran ahead of their routers' (seconds; behind: below 0), largest first: subtracted from their spans' times.
SELECT worker, argMax(offset_seconds, slice) AS newest, max(abs(offset_seconds)) AS largest,
    argMax(low_seconds, slice) AS low, argMax(high_seconds, slice) AS high, countIf(is_contradictory) AS torn
FROM worker_clocks
WHERE $__timeFilter(slice)
GROUP BY worker
ORDER BY largest DESC, worker
LIMIT 200
