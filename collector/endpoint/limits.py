"""How much one query may take, and which settings a client may send with it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collector.endpoint.errors import Refused
from collector.endpoint.word_lists import words

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Bounds of one query; a client may ask for less, never for more."""

    seconds: int = 30
    memory_bytes: int = 1024 * MEBIBYTE
    result_rows: int = 1_000_000
    result_bytes: int = 256 * MEBIBYTE
    statement_bytes: int = 256 * 1024
    queries: int = 4
    """Queries that run at once; a few more wait for up to `wait_seconds`."""
    wait_seconds: float = 10.0
    threads: int = 2

    def engine_settings(self) -> dict[str, int | str]:
        """The bounds as the engine's settings."""
        return {
            "max_execution_time": self.seconds,
            "timeout_overflow_mode": "throw",
            "max_memory_usage": self.memory_bytes,
            "max_result_rows": self.result_rows,
            "max_result_bytes": self.result_bytes,
            "result_overflow_mode": "throw",
            "max_query_size": 2 * self.statement_bytes,
            "max_threads": self.threads,
            "max_subquery_depth": 32,
            "max_ast_elements": 20_000,
            "max_expanded_ast_elements": 100_000,
            "max_temporary_data_on_disk_size_for_query": 1,
            "max_rows_in_join": 20_000_000,
            "allow_introspection_functions": 0,
            "allow_ddl": 0,
        }


_MAY_LOWER = frozenset(
    ["max_execution_time", "max_memory_usage", "max_result_rows", "max_result_bytes", "max_threads"]
)
TAKEN = _MAY_LOWER | words("settings")
"""Settings that a client may send."""

_IGNORED = frozenset(["result_overflow_mode", "timeout_overflow_mode", "readonly", "max_rows_to_read"])
"""What clients send that changes nothing here: the endpoint has its own, stricter."""
_VALUE = re.compile(r"[A-Za-z0-9_/+.-]{0,64}")


def client_settings(limits: Limits, asked: Mapping[str, str]) -> dict[str, int | str]:
    """All settings of one query: the bounds, then what the client may choose.

    Raises Refused naming a setting that is not taken, or a value that is none.
    """
    settings = limits.engine_settings()
    for name, value in asked.items():
        if name in _IGNORED:
            continue
        if name not in TAKEN:
            raise Refused(f"the setting {name} is not taken here; leave it out")
        if not _VALUE.fullmatch(value):
            raise Refused(f"the setting {name} cannot be {value!r}")
        if name in _MAY_LOWER:
            if not value.isdigit():
                raise Refused(f"the setting {name} must be a whole number, not {value!r}")
            # 0 means unlimited to ClickHouse: the bound stays.
            settings[name] = min(int(value) or int(settings[name]), int(settings[name]))
        else:
            settings[name] = value
    return settings
