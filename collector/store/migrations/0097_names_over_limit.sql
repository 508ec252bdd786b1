-- Scratch of one assembly step: names that are stored as __other__, as there are too many of their kind.
CREATE TABLE names_over_limit (kind LowCardinality(String), name String) ENGINE = Memory
