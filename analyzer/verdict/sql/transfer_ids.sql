-- Names of some hand-offs, by hash.
SELECT DISTINCT transfer_id AS name, cityHash64(transfer_id) AS code
FROM transfers
WHERE at_ns >= {from_ns:Int64} AND at_ns < {to_ns:Int64} AND code IN {wanted:Array(UInt64)}
