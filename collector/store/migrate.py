"""Numbered, forward-only migrations: one statement a file, applied in order and recorded in the database."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from collector.errors import DestructiveMigration, StoreTooNew

MIGRATIONS = Path(__file__).parent / "migrations"


@dataclass(frozen=True)
class Migration:
    """One schema step: its number (from the file name), name and SQL text."""

    number: int
    name: str
    sql: str


class _Client(Protocol):
    def command(self, sql: str, params: dict[str, object] | None = None) -> object: ...

    def query(self, sql: str, params: dict[str, object] | None = None) -> list[tuple[object, ...]]: ...


def migrations() -> list[Migration]:
    """All migrations of this release, in order."""
    found = []
    for path in sorted(MIGRATIONS.glob("*.sql")):
        number, name = path.stem.split("_", 1)
        found.append(Migration(int(number), name, path.read_text("utf-8").strip().rstrip(";")))
    return found


RECORD = Migration(
    0,
    "schema_migrations",
    "CREATE TABLE IF NOT EXISTS schema_migrations (number UInt32, name String, "
    "applied_at DateTime('UTC') DEFAULT now('UTC')) ENGINE = MergeTree ORDER BY number",
)
"""The record of what has been applied, made before the first step."""

Statements = Callable[[Migration], list[str]]
"""Gives the statements by which a ClickHouse takes a migration: one, or several on a cluster."""

_QUOTED_OR_COMMENT = re.compile(r"'(?:[^'\\]|\\.)*'|--[^\n]*")
_DESTRUCTIVE = re.compile(
    r"\b(?:DROP (?:TABLE|DATABASE|COLUMN|PARTITION|PART|DICTIONARY)|DETACH|TRUNCATE|DELETE|CLEAR|"
    r"REPLACE TABLE|MODIFY COLUMN|RENAME|UPDATE|EXCHANGE|REPLACE PARTITION|MODIFY TTL)\b",
    re.IGNORECASE,
)


def as_written(migration: Migration) -> list[str]:
    """The form of a single ClickHouse: the file itself."""
    return [migration.sql]


def destructive(sql: str) -> str | None:
    """The words of a statement that can lose what is stored, or None. Dropping a view loses nothing."""
    found = _DESTRUCTIVE.search(_QUOTED_OR_COMMENT.sub("", sql))
    return found[0].upper() if found else None


def pending(client: _Client, statements: Statements = as_written) -> list[Migration]:
    """What this database lacks, in order; makes the record when it is missing.

    Raises StoreTooNew when the database has a migration this release does not know.
    """
    for sql in statements(RECORD):
        client.command(sql)
    done = {int(str(row[0])) for row in client.query("SELECT number FROM schema_migrations")}
    newest = max((migration.number for migration in migrations()), default=0)
    unknown = sorted(number for number in done if number > newest)
    if unknown:
        raise StoreTooNew(
            f"the store has schema {unknown[-1]:04d}, this pdscope knows up to {newest:04d}: "
            "it was written by a newer release; upgrade pdscope, or open another data directory"
        )
    return [migration for migration in migrations() if migration.number not in done]


def migrate(
    client: _Client, statements: Statements = as_written, allow_destructive: bool = False
) -> list[Migration]:
    """Apply what is missing and return it. A statement that fails leaves the earlier ones recorded.

    Raises DestructiveMigration, before anything is applied, when a step can lose data unasked.
    """
    new = pending(client, statements)
    for migration in new:
        if (words := destructive(migration.sql)) and not allow_destructive:
            raise DestructiveMigration(
                f"migration {migration.number:04d}_{migration.name} holds {words}, which can lose what is "
                "stored; back the store up, read `pdscope migrate`, then `pdscope migrate --apply "
                "--allow-destructive`"
            )
    for migration in new:
        for sql in statements(migration):
            client.command(sql)
        client.command(
            "INSERT INTO schema_migrations (number, name) VALUES ({number:UInt32}, {name:String})",
            {"number": migration.number, "name": migration.name},
        )
    return new
