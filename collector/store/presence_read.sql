-- Processes of a group that were heard of in the last silent_s seconds, the first to join first.
SELECT name
FROM (SELECT name, argMax(known.joined_at, seen_at) AS joined_at, max(seen_at) AS last_seen, argMax(gone, seen_at) AS left FROM {table:Identifier} AS known GROUP BY name)
WHERE startsWith(name, {group:String}) AND NOT left AND last_seen > now64(3, 'UTC') - {silent_s:UInt32}
ORDER BY joined_at, name
