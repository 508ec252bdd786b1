-- Scratch databases of analyzers that have not been heard of for left_s seconds and made none of their tables since: they were killed.
SELECT database
FROM system.tables
WHERE startsWith(database, {prefix:String})
    AND substring(database, length({prefix:String}) + 1) NOT IN (SELECT name FROM analyzers WHERE seen_at > now64(3, 'UTC') - {left_s:UInt32})
GROUP BY database
HAVING max(metadata_modification_time) <= now() - {left_s:UInt32}
