"""The tap: a streaming reverse proxy that records what the client saw."""
