-- Scratch: from when to when each decode process is known to have worked (Unix nanoseconds), renewed every few seconds.
CREATE TABLE worker_life (worker String, process String, first_ns Int64, last_ns Int64) ENGINE = Memory
