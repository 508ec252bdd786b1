"""The `pdscope` command: one module a subcommand. Modules import what is heavy only when they run."""
