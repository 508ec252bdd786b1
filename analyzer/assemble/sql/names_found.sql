-- Names that the requests of this step carry, by kind.
SELECT DISTINCT pair.1 AS kind, pair.2 AS name
FROM (SELECT arrayJoin([('models', model), ('tenants', tenant), ('routes', route), ('workers', prefill_worker), ('workers', decode_worker)]) AS pair FROM {scratch:Identifier}.batch_timelines)
WHERE name NOT IN ('', '__other__')
ORDER BY kind, name
