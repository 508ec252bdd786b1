-- A process says that it lives, or that it ends; the time is the server's. One that was silent for silent_s seconds joins anew, as the
-- last: another leads by then, and is not to lose that to one that comes back.
INSERT INTO {table:Identifier} (name, joined_at, seen_at, gone)
WITH (SELECT (max(seen_at), argMax(joined_at, seen_at)) FROM {table:Identifier} WHERE name = {name:String}) AS before
SELECT
    {name:String},
    if(before.1 > now64(3, 'UTC') - {silent_s:UInt32}, before.2, now64(3, 'UTC')),
    now64(3, 'UTC'),
    {gone:UInt8}
