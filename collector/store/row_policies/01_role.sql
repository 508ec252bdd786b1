-- Tenants read a server's views as users of their own name that hold this role: CREATE USER acme …; GRANT pdscope_tenant TO acme.
CREATE ROLE IF NOT EXISTS pdscope_tenant
