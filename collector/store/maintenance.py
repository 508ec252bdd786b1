"""Looks at a store's schema without bringing it up to date first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clickhouse_connect.driver.exceptions import ClickHouseError

from collector.errors import StoreError
from collector.store.migrate import destructive, migrate, pending
from collector.store.place import place_of
from collector.store.row_policies import row_policies
from collector.store.store import engine_at


@dataclass(frozen=True)
class Step:
    """One migration a store lacks, as it would be run, and the words in it that can lose data."""

    number: int
    name: str
    statements: tuple[str, ...]
    words: str | None


class Maintenance:
    """A connection for schema work; a context manager. Raises StoreBusy, StoreError."""

    def __init__(self, target: str):
        self._place = place_of(target)
        self._engine = engine_at(self._place)
        try:
            self._client = self._engine.connect()
        except BaseException:
            self._engine.close()
            raise

    def __enter__(self) -> "Maintenance":
        """Use in a with statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self._client.close()
        self._engine.close()

    def pending(self) -> list[Step]:
        """What the store lacks, in order. Raises StoreTooNew."""
        return [
            Step(item.number, item.name, tuple(self._engine.statements(item)), destructive(item.sql))
            for item in pending(self, self._engine.statements)
        ]

    def migrate(self, allow_destructive: bool) -> int:
        """Apply it; how many steps. Raises DestructiveMigration before anything is applied, StoreError."""
        return len(migrate(self, self._engine.statements, allow_destructive))

    def row_policies(self) -> list[str]:
        """Statements that keep tenants apart on a server. Raises ConfigError when there is none."""
        return row_policies(self._place)

    def command(self, sql: str, params: Mapping[str, Any] | None = None) -> object:
        """Run a statement."""
        try:
            return self._client.command(sql, parameters=dict(params or {}))
        except ClickHouseError as error:
            raise StoreError(f"statement failed: {str(error).strip().splitlines()[0][:500]}") from error

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of a SELECT."""
        try:
            return [tuple(row) for row in self._client.query(sql, parameters=dict(params or {})).result_rows]
        except ClickHouseError as error:
            raise StoreError(f"query failed: {str(error).strip().splitlines()[0][:500]}") from error
