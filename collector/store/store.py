"""One ClickHouse, embedded or a server, behind one small interface."""

import math
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError
from urllib3.exceptions import HTTPError

from collector.conventions import SENSITIVE_ATTRIBUTES
from collector.errors import BadBody, StoreError
from collector.sql import read_sql
from collector.store.embedded import EmbeddedEngine
from collector.store.engine import Engine
from collector.store.migrate import migrate
from collector.store.native import Answer, Column, NativeReader
from collector.store.otlp_body import METRICS, TRACES, OtlpKind, one_message
from collector.store.place import Embedded, Server, place_of


@dataclass(frozen=True)
class InsertResult:
    """What an insert did: its ingest sequence, spans or metric points offered, and how many were kept out by
    reason.
    """

    sequence: int
    spans: int
    refused: Mapping[str, int]
    points: int = 0


class Store:
    """A ClickHouse with pdscope's schema. Thread-safe: each thread gets a client of its own."""

    def __init__(self, target: str | os.PathLike[str] | None, private_attributes: Iterable[str] = ()):
        """Open the store at `target`: a directory (created when missing), None or ':memory:', or the URL of a
        server (see `place`).

        private_attributes: names of attributes, besides the convention's, whose values are never stored.
        Raises ConfigError, StoreBusy when another process holds it, StoreTooNew, StoreError.
        """
        self.place = place_of(":memory:" if target is None else str(target))
        self._stored_at = -math.inf
        self._local = threading.local()
        self._clients: list[Client] = []
        self._insert_lock = threading.Lock()
        self._engine: Engine = engine_at(self.place)
        try:
            self.command("SELECT 1")
            migrate(self, self._engine.statements)
            self._keep_private(private_attributes)
            self._sequence = int(self.query(read_sql(__file__, "last_sequence"))[0][0])
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, target: str | os.PathLike[str]) -> "Store":
        """Open the store at `target`: a directory, ':memory:', or the URL of a server."""
        return cls(target)

    @property
    def path(self) -> Path | None:
        """The directory of an embedded store."""
        return self.place.path if isinstance(self.place, Embedded) else None

    @property
    def embedded(self) -> str | None:
        """How further handles of this process name the embedded engine; None when there is none."""
        return self._engine.target if isinstance(self._engine, EmbeddedEngine) else None

    @property
    def last_sequence(self) -> int:
        """Sequence of the newest stored insert; everything up to it can be read."""
        try:
            return self._engine.last_sequence(self._client(), self._sequence)
        except ClickHouseError as error:
            raise StoreError(f"query failed: {self._why(error)}") from error

    @property
    def quiet_s(self) -> float:
        """Seconds since spans were stored here, or by anyone on a server; long or infinite when none were."""
        try:
            return self._engine.quiet_s(self._client(), time.monotonic() - self._stored_at)
        except ClickHouseError as error:
            raise StoreError(f"query failed: {self._why(error)}") from error

    @property
    def behind_s(self) -> float:
        """How long (seconds) what others acknowledged may be unknown here, while they reach the store."""
        return self._engine.behind_s

    def announce(self, api: str) -> None:
        """Tell other processes at which REST address this one can be asked."""
        self._engine.announce(api)

    def close(self) -> None:
        """Release every thread's client and the directory."""
        for client in self._clients:
            client.close()
        self._clients.clear()
        self._local = threading.local()
        self._engine.close()

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of a SELECT as tuples; values are only ever bound parameters."""
        try:
            return [
                tuple(row) for row in self._client().query(sql, parameters=dict(params or {})).result_rows
            ]
        except ClickHouseError as error:
            raise StoreError(f"query failed: {self._why(error)}") from error

    def rows(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows of a SELECT as dictionaries by column name."""
        try:
            return list(self._client().query(sql, parameters=dict(params or {})).named_results())
        except ClickHouseError as error:
            raise StoreError(f"query failed: {self._why(error)}") from error

    def columns(self, sql: str, params: Mapping[str, Any] | None = None) -> dict[str, Column]:
        """Columns of a SELECT as numpy arrays (see NativeReader for the types that are read).

        A SELECT without rows gives empty columns, or none at all.
        """
        try:
            with self._client().raw_stream(sql, parameters=dict(params or {}), fmt="Native") as stream:
                return NativeReader(cast(Answer, stream)).columns()
        except (ClickHouseError, HTTPError, EOFError) as error:
            # a connection to a server may break off in the middle of an answer
            raise StoreError(f"query failed: {self._why(error)}") from error

    def command(self, sql: str, params: Mapping[str, Any] | None = None) -> object:
        """Run a statement that returns no rows (DDL, INSERT … SELECT)."""
        try:
            return self._client().command(sql, parameters=dict(params or {}))
        except ClickHouseError as error:
            raise StoreError(f"statement failed: {self._why(error)}") from error

    def insert(
        self,
        table: str,
        rows: Sequence[Sequence[Any]],
        columns: Sequence[str],
        database: str | None = None,
    ) -> None:
        """Insert rows into one of pdscope's own tables; `database` where it is not the store's."""
        try:
            self._client().insert(table, rows, column_names=list(columns), database=database)
        except ClickHouseError as error:
            raise StoreError(f"insert into {table} failed: {self._why(error)}") from error

    def insert_traces(self, bodies: Sequence[bytes]) -> InsertResult:
        """Store OTLP trace exports (serialized ExportTraceServiceRequest) as one batch.

        Returns when the spans can be read. Concatenated bodies are one valid message, so ClickHouse parses
        them all at once. Raises BadBody when any cannot be parsed; then none is stored. Raises StoreError
        when the store fails.
        """
        sequence, offered, refused = self._insert_otlp(TRACES, bodies)
        self._stored_at = time.monotonic()
        return InsertResult(sequence, offered, refused)

    def insert_metrics(self, bodies: Sequence[bytes]) -> InsertResult:
        """Store OTLP metric exports (serialized ExportMetricsServiceRequest) as one batch.

        As `insert_traces`, with which it shares the ingest sequence.
        """
        sequence, offered, refused = self._insert_otlp(METRICS, bodies)
        return InsertResult(sequence, 0, refused, points=offered)

    def _insert_otlp(self, kind: OtlpKind, bodies: Sequence[bytes]) -> tuple[int, int, dict[str, int]]:
        with self._insert_lock:
            try:
                sequence = self._engine.next_sequence(self._client(), self._sequence)
            except ClickHouseError as error:
                raise StoreError(f"storing {kind.name} data failed: {self._why(error)}") from error
            block = one_message(bodies, sequence)
            try:
                self._engine.insert(self._client(), kind, block, sequence)
            except ClickHouseError as error:
                # A batch can fail after some of its views were written: its sequence is not used again.
                self._sequence = sequence
                if "PROTOBUF" in str(error) or "Protobuf" in str(error) or "CANNOT_PARSE" in str(error):
                    raise BadBody(f"not an OTLP {kind.name} export: {_first_line(error)}") from error
                raise StoreError(f"storing {kind.name} data failed: {self._why(error)}") from error
            except OSError as error:
                raise StoreError(f"storing {kind.name} data failed: {error.strerror or error}") from error
            self._sequence = sequence
        rows = self.rows(read_sql(__file__, kind.log), {"s": sequence})
        refused = {reason: sum(row[reason] for row in rows) for reason in kind.reasons}
        return (
            sequence,
            sum(row[kind.items] for row in rows),
            {reason: count for reason, count in refused.items() if count},
        )

    def _keep_private(self, names: Iterable[str]) -> None:
        exact = {name for name in (*SENSITIVE_ATTRIBUTES, *names) if not name.endswith(".")}
        self.command("TRUNCATE TABLE private_attributes")
        self.insert("private_attributes", [[name] for name in sorted(exact)], ["key"])
        self._engine.keep_private(exact)

    def _why(self, error: Exception) -> str:
        text = _first_line(error)
        if "NOT_ENOUGH_SPACE" in text or "No space left" in text:
            return f"no space is left on the disk of {self.path}; free some, or give --data another directory"
        return text

    def _client(self) -> Client:
        client: Client | None = getattr(self._local, "client", None)
        if client is None:
            client = self._engine.connect()
            self._local.client = client
            self._clients.append(client)
        return client


def engine_at(place: Embedded | Server) -> Engine:
    """The engine behind a place. Raises StoreBusy, StoreError."""
    if isinstance(place, Embedded):
        return EmbeddedEngine(place.path)
    from collector.store.server import ServerEngine

    return ServerEngine(place)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:500]
