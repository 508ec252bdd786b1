-- Fresh spans lie in one file a part, not in one for each column: making and removing files was up to a quarter of an insert.
ALTER TABLE spans MODIFY SETTING min_bytes_for_wide_part = 268435456
