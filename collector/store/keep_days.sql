-- How long rows are kept after they were stored.
ALTER TABLE {table:Identifier} MODIFY TTL {column:Identifier} + toIntervalDay({days:UInt32})
