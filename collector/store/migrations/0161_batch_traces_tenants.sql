-- Whose the traces of a step are: the tenants that its spans say and the one on record.
ALTER TABLE batch_traces ADD COLUMN tenants Array(String), ADD COLUMN known_tenant String
