-- Requests and the two views made of nothing else; hand-offs, spans and signals name no tenant of their own.
GRANT SELECT ON requests, SELECT ON request_log, SELECT ON request_phases TO pdscope_tenant
