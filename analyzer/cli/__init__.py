"""The pdscope command: one module per sub-command."""
