-- Rows go by whole parts; when the time changes, only the parts' dates are reckoned anew.
ALTER TABLE {table:Identifier} MODIFY SETTING ttl_only_drop_parts = 1, materialize_ttl_recalculate_only = 1
