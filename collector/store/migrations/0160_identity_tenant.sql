-- Whose spans bore a name: of a trace the tenant its spans say, of a request id that of the trace that brought it. Names of different
-- tenants are never one request's.
ALTER TABLE identity ADD COLUMN tenant LowCardinality(String)
