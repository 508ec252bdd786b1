-- Processes seen for the first time: a scale-up, or a restart under a new name.
SELECT first_seen AS time, 'new process' AS title, concat(service, ' ', worker, if(version = '', '', concat(' version ', version))) AS text, 'process' AS tags
FROM processes
WHERE $__timeFilter(first_seen)
ORDER BY time
LIMIT 200
