-- Of some requests of the window: spans under a span that is not the request's, and how many of them begin after that one ended.
WITH some AS
(
    SELECT trace_id FROM requests
    WHERE tombstone = 0 AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({to_ns:Int64}, 'UTC')
        AND ({model:String} = '' OR model = {model:String})
    LIMIT 50
)
SELECT count() AS children, countIf(child.start_ns >= parent.end_ns) AS outside
FROM
(
    SELECT trace_id, parent_id, start_ns FROM span_facts
    WHERE start_ns >= {from_ns:Int64} - 60000000000 AND start_ns < {to_ns:Int64} + 600000000000
        AND toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) >= toDateTime(intDiv({from_ns:Int64}, 1000000000) - 60, 'UTC')
        AND trace_id IN (SELECT trace_id FROM some) AND root != 1
) AS child
INNER JOIN
(
    SELECT trace_id, span_id, end_ns FROM span_facts
    WHERE start_ns >= {from_ns:Int64} - 60000000000 AND start_ns < {to_ns:Int64} + 600000000000
        AND toStartOfMinute(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) >= toDateTime(intDiv({from_ns:Int64}, 1000000000) - 60, 'UTC')
        AND trace_id IN (SELECT trace_id FROM some) AND root != 1
) AS parent ON child.trace_id = parent.trace_id AND child.parent_id = parent.span_id
