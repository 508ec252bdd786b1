-- An analyzer says that it lives, or that it ends; the time is the server's.
INSERT INTO analyzers (name, joined_at, seen_at, gone)
SELECT
    {name:String},
    if((SELECT count() FROM analyzers WHERE name = {name:String}) = 0, now64(3, 'UTC'), (SELECT min(joined_at) FROM analyzers WHERE name = {name:String})),
    now64(3, 'UTC'),
    {gone:UInt8}
