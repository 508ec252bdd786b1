"""How commands fail: one line on stderr, and an exit code.

CommandError     exit code 1: the question has no answer (nothing found, a file not readable as telemetry)
CollectorError   exit code 2: something is wrong with an option, a setting, a file, an address or the store
"""


class CommandError(Exception):
    """The command was run well and has nothing to show for it."""

    exit_code = 1
