-- Hand-offs over time by what their spans say of the end.
SELECT $__timeInterval(at) AS time, if(status = '', 'not reported', toString(status)) AS ended, count() AS handoffs
FROM kv_transfers
WHERE $__timeFilter(at)
    AND $__conditionalAll(hasAny([toString(producer), toString(consumer)], [${worker:singlequote}]), $worker)
GROUP BY time, ended
ORDER BY time, ended
