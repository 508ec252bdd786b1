-- The columns a view fills; what has a default (the time of storing) is left to the server, whose clock counts.
SELECT name FROM system.columns WHERE database = 'default' AND table = {table:String} AND default_kind = '' ORDER BY position
