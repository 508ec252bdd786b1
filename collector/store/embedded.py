"""The engine in this process: chDB, one process per data directory."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from collector.errors import StoreBusy, StoreError
from collector.store.engine import SETTINGS, take_large_pages
from collector.store.lock import DirectoryLock
from collector.store.migrate import Migration
from collector.store.otlp_body import OtlpKind
from collector.store.otlp_insert import insert_otlp


class EmbeddedEngine:
    """chDB on a directory, or in memory when `path` is None."""

    def __init__(self, path: Path | None):
        """Raises StoreBusy naming the process that holds the directory, StoreError."""
        if path and "?" in str(path.resolve()):
            # The engine would take what follows for options, and keep its files in another directory.
            raise StoreError(f"the data directory {path} has a '?' in its name; give --data one without")
        take_large_pages()
        self._path = path
        self._lock = DirectoryLock(path) if path else None

    @property
    def target(self) -> str:
        """How further handles of this process must name it."""
        return os.path.realpath(self._path) if self._path else ":memory:"

    def connect(self) -> Client:
        """A client of its own shares the engine's data."""
        try:
            return clickhouse_connect.get_client(interface="chdb", path=self.target, settings=SETTINGS)
        except (ClickHouseError, RuntimeError) as error:
            raise StoreBusy(
                f"cannot open the store at {self._path}: {str(error).strip().splitlines()[0][:500]}; "
                "one process holds one embedded store, stop the other or give --data another directory"
            ) from error

    def statements(self, migration: Migration) -> list[str]:
        """As the file says."""
        return [migration.sql]

    def insert(self, client: Client, kind: OtlpKind, block: Sequence[bytes], sequence: int) -> None:
        """The views on the entry table type what is inserted."""
        insert_otlp(client, kind, block)

    def next_sequence(self, client: Client, own: int) -> int:
        """Nobody else writes here."""
        return own + 1

    def last_sequence(self, client: Client, own: int) -> int:
        """What this process stored can be read at once."""
        return own

    @property
    def behind_s(self) -> float:
        """Nobody else writes here."""
        return 0.0

    def quiet_s(self, client: Client, own: float) -> float:
        """Nobody else writes here."""
        return own

    def keep_private(self, names: Iterable[str]) -> None:
        """The views read the store's own table of names."""

    def announce(self, api: str) -> None:
        """Write the address where others look who holds the directory."""
        if self._lock:
            self._lock.describe(api)

    def close(self) -> None:
        """Give the directory back."""
        if self._lock:
            self._lock.release()
