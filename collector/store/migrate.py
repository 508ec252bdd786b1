"""Numbered, forward-only migrations: one statement a file, applied in order and recorded in the database."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from collector.errors import StoreTooNew

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


def applied(client: _Client) -> set[int]:
    """Numbers of the migrations this database has; creates the record of them when it is missing.

    Raises StoreTooNew when the database has a migration this release does not know.
    """
    client.command(
        "CREATE TABLE IF NOT EXISTS schema_migrations (number UInt32, name String, "
        "applied_at DateTime('UTC') DEFAULT now('UTC')) ENGINE = MergeTree ORDER BY number"
    )
    done = {int(str(row[0])) for row in client.query("SELECT number FROM schema_migrations")}
    newest = max((migration.number for migration in migrations()), default=0)
    unknown = sorted(number for number in done if number > newest)
    if unknown:
        raise StoreTooNew(
            f"the store has schema {unknown[-1]:04d}, this pdscope knows up to {newest:04d}: "
            "it was written by a newer release; upgrade pdscope, or open another data directory"
        )
    return done


def migrate(client: _Client) -> list[Migration]:
    """Apply what is missing and return it. A statement that fails leaves the earlier ones recorded."""
    done = applied(client)
    new = [migration for migration in migrations() if migration.number not in done]
    for migration in new:
        client.command(migration.sql)
        client.command(
            "INSERT INTO schema_migrations (number, name) VALUES ({number:UInt32}, {name:String})",
            {"number": migration.number, "name": migration.name},
        )
    return new
