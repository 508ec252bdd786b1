-- A tenant's rows are those that bear its user's name; the views over requests filter by it, as they run with their reader's rights.
CREATE ROW POLICY IF NOT EXISTS pdscope_own_requests ON requests FOR SELECT USING tenant = currentUser() TO pdscope_tenant
