-- Lets whoever counts requests as they are finished read only those, wherever in time they started.
ALTER TABLE requests ADD INDEX finished finalized TYPE minmax GRANULARITY 1
