"""One query on the embedded engine: a handle of its own, read-only and bounded."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from collector.endpoint.errors import Busy, Failed, TooLarge
from collector.endpoint.limits import Limits, client_settings
from collector.endpoint.statement import Statement, admit, unescaped


@dataclass(frozen=True)
class Result:
    """What a query gave: one piece a block for Native, else one piece; and what it cost."""

    format: str
    pieces: tuple[bytes, ...]
    read_rows: int
    read_bytes: int
    elapsed_ns: int


class Engine:
    """Runs clients' statements against the store at `target` (the path the store was opened with)."""

    def __init__(self, target: str, limits: Limits):
        self._target = target
        self._limits = limits
        self._running = threading.BoundedSemaphore(limits.queries)

    def query(
        self,
        text: str,
        params: Mapping[str, str],
        settings: Mapping[str, str],
        default_format: str,
        by_block: bool = False,
    ) -> Result:
        """Check a statement and run it. Raises QueryError."""
        chosen = client_settings(self._limits, settings)
        if not self._running.acquire(timeout=self._limits.wait_seconds):
            raise Busy(f"{self._limits.queries} queries are running; try again")
        try:
            with self._handle(chosen) as handle:
                statement = admit(text, params, lambda sql, given: _lines(handle, sql, given))
                result = _run(handle, statement, params, default_format, by_block)
        finally:
            self._running.release()
        # The engine's own bounds on a result do not hold for constants.
        if (size := sum(map(len, result.pieces))) > self._limits.result_bytes:
            raise TooLarge(f"the result is {size} bytes, more than {self._limits.result_bytes}")
        return result

    def version(self) -> str:
        """The engine's version, for greeting clients."""
        with self._handle({}) as handle:
            return _lines(handle, "SELECT version()", {})[0]

    @contextmanager
    def _handle(self, settings: Mapping[str, int | str]) -> Iterator[Any]:
        import chdb  # the store says how before it is loaded

        handle = chdb.connect(self._target)  # type: ignore[no-untyped-call]
        try:
            pairs = {"session_timezone": "UTC", **settings, "readonly": 1}
            handle.query("SET " + ", ".join(f"{name} = '{value}'" for name, value in pairs.items()))
            yield handle
        finally:
            handle.close()


def _run(
    handle: Any, statement: Statement, params: Mapping[str, str], default_format: str, by_block: bool
) -> Result:
    asked = statement.format or default_format
    began = time.perf_counter_ns()
    try:
        if by_block and asked == "Native" and not statement.sql.startswith("DESCRIBE"):
            # BlockInfo goes before each block, so the blocks must be told apart. DESCRIBE gives one anyway.
            stream = handle.send_query(statement.sql, asked, params=dict(params))
            pieces = tuple(piece for chunk in stream if (piece := chunk.bytes()))
            return Result(asked, pieces, 0, 0, time.perf_counter_ns() - began)
        result = handle.query(statement.sql, asked, params=dict(params))
    except RuntimeError as error:
        raise Failed(str(error)) from error
    body = result.bytes() or b""
    return Result(asked, (body,), result.rows_read(), result.bytes_read(), time.perf_counter_ns() - began)


def _lines(handle: Any, sql: str, params: Mapping[str, str]) -> list[str]:
    try:
        body = handle.query(sql, "TabSeparated", params=dict(params)).bytes() or b""
    except RuntimeError as error:
        raise Failed(str(error)) from error
    lines = body.decode("utf-8", "surrogateescape").split("\n")[:-1]
    return [unescaped(line) for line in lines] if sql.startswith("EXPLAIN") else lines
