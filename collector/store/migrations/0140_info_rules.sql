-- Which labels of which metric tell what both sides of a hand-off must agree on; the adapters' rules, written when the analyzer starts.
CREATE TABLE info_rules (metric LowCardinality(String), label String, name String) ENGINE = Memory
