-- Each table's columns, and the days its TTL keeps rows; 0 when it has none.
SELECT
    name,
    toUInt32OrZero(extract(create_table_query, 'TTL \\w+ \\+ toIntervalDay\\((?:_CAST\\()?(\\d+)')) AS days,
    (SELECT groupArray((table, name)) FROM system.columns WHERE database = currentDatabase()) AS every,
    arrayMap(c -> c.2, arrayFilter(c -> c.1 = tables.name, every)) AS columns
FROM system.tables AS tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
