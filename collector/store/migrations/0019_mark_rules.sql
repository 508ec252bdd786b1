-- Time between two marks of a request that no single span covers: the adapters' rules, written when the analyzer starts.
CREATE TABLE mark_rules (start String, end String, phase UInt8, covers UInt16, source UInt8, reason String) ENGINE = Memory
