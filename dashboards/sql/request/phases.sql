-- The phase intervals of one request, in order. A composite names the phases it holds; source says whether it was observed, derived or bounded.
SELECT
    if(phase = '', concat('within ', arrayStringConcat(covers, ', ')), toString(phase)) AS name, toString(worker) AS worker, attempt,
    offset_seconds, seconds, toString(source) AS known, toString(reason) AS why
FROM request_phases
WHERE key = lower(trimBoth(${request:singlequote})) OR trace_id = lower(trimBoth(${request:singlequote})) OR request_id = trimBoth(${request:singlequote})
ORDER BY began_at, done_at
LIMIT 500
