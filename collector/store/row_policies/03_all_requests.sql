-- Everyone else, pdscope's own user first of all, goes on reading every row.
CREATE ROW POLICY IF NOT EXISTS pdscope_all_requests ON requests FOR SELECT USING 1 TO ALL EXCEPT pdscope_tenant
