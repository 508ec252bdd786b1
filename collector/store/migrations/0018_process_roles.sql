-- The role of a process by the pattern (RE2) its service name or instance matches; from the settings, written when the analyzer starts.
CREATE TABLE process_roles (pattern String, role UInt8, configured UInt8) ENGINE = Memory
