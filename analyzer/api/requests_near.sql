-- About how many requests of a model started in a window; versions count apart.
SELECT count() AS requests
FROM requests
WHERE first_bucket >= toDateTime(intDiv({from_ns:Int64}, 1000000000), 'UTC') AND first_bucket < toDateTime(intDiv({to_ns:Int64}, 1000000000), 'UTC')
    AND model = {model:String} AND tombstone = 0
