-- Which of these requests have their request span.
SELECT request_key
FROM requests FINAL
WHERE tombstone = 0 AND first_bucket IN {buckets:Array(DateTime('UTC'))} AND NOT has(notes, 'no_request_span')
    AND request_key IN (SELECT toFixedString(unhex(arrayJoin({keys:Array(String)})), 16))
