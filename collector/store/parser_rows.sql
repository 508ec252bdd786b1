-- One batch, without the columns that the server fills.
SELECT * EXCEPT ('^(ingested_at|seen_at)$') FROM {table:Identifier}
