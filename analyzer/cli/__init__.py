"""The `pdscope` command."""
