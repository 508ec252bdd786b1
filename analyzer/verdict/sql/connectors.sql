-- Names of the connectors that moved KV in the window, with their hashes.
SELECT DISTINCT CAST(connector, 'String') AS name, cityHash64(name) AS code
FROM transfers
WHERE at_ns >= {from_ns:Int64} AND at_ns < {to_ns:Int64}
