-- Finds what changed since a version without reading all requests.
ALTER TABLE requests ADD INDEX by_version version TYPE minmax GRANULARITY 1
