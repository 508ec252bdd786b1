"""The tables an assembler keeps to itself: a step's intermediate results, and the rules it reads spans by.

In an embedded store they lie among the others. On a server, where several assemblers work at once, each has
a database of its own; statements name it as `{scratch:Identifier}`. All are in memory, so a server that
restarts empties them: `lost` tells.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from collector.sql import read_sql
from collector.store import Store

STEP = (
    "batch_read",
    "batch_traces",
    "batch_requests",
    "batch_spans",
    "batch_attempts",
    "batch_merged",
    "batch_timelines",
)
"""Cleared before every step."""

RULES = ("mark_rules", "process_roles")
"""Written when the assembler starts."""

_KEPT = ("worker_life", "names_over_limit")


class Scratch:
    """Statements over the store and one assembler's own tables."""

    def __init__(self, store: Store, owner: str | None = None):
        """owner: name of the assembler where several share the store; its database is made."""
        self._store = store
        home = str(store.query("SELECT currentDatabase()")[0][0])
        self._own = owner is not None
        self._prefix = f"{home}_scratch_"
        self.database = f"{self._prefix}{owner}" if owner else home
        """Where the tables are."""
        self._mark = ""
        if owner:
            self.prepare()

    def prepare(self) -> None:
        """Make the tables that are missing."""
        self.command("CREATE DATABASE IF NOT EXISTS {scratch:Identifier}")
        for table in (*STEP, *RULES, *_KEPT):
            self.command(f"CREATE TABLE IF NOT EXISTS {{scratch:Identifier}}.{table} AS {table}")
        self.command("CREATE TABLE IF NOT EXISTS {scratch:Identifier}.mark (mark String) ENGINE = Memory")

    def clear(self) -> None:
        """Empty what a step fills."""
        for table in STEP:
            self.command(f"TRUNCATE TABLE {{scratch:Identifier}}.{table}")

    def holds_rules(self) -> bool:
        """Whether the tables are there, with the rules in them."""
        there = "SELECT count() FROM system.tables WHERE database = {scratch:String} AND name = {last:String}"
        if not self._store.query(there, {"scratch": self.database, "last": RULES[-1]})[0][0]:
            return False
        return bool(self.query("SELECT count() FROM {scratch:Identifier}.process_roles")[0][0])

    def set_mark(self) -> None:
        """Leave a mark that a restart of the server would wipe out with the rest."""
        if self._own:
            self._mark = uuid.uuid4().hex
            self.command("TRUNCATE TABLE {scratch:Identifier}.mark")
            self.command("INSERT INTO {scratch:Identifier}.mark VALUES ({mark:String})", {"mark": self._mark})

    def lost(self) -> bool:
        """Whether the tables were emptied since the mark was set."""
        if not self._own:
            return False
        rows = self.query("SELECT mark FROM {scratch:Identifier}.mark")
        return [row[0] for row in rows] != [self._mark]

    def drop(self) -> None:
        """Remove the tables of an assembler that ends; among a store's own ones nothing is removed."""
        if self._own:
            self.command("DROP DATABASE IF EXISTS {scratch:Identifier}")

    def drop_left(self, left_s: int) -> list[str]:
        """Remove the databases of analyzers that were killed: silent for `left_s` seconds. Their names.

        One that only stood still so long makes its own again and does its step anew.
        """
        asked = {"prefix": self._prefix, "left_s": left_s}
        rows = self._store.query(read_sql(__file__, "sql/scratch_left"), asked)
        left = [str(row[0]) for row in rows if row[0] != self.database]
        for database in left:
            self._store.command("DROP DATABASE IF EXISTS {left:Identifier}", {"left": database})
        return left

    def command(self, sql: str, params: Mapping[str, object] | None = None) -> None:
        """Run a statement that returns no rows."""
        self._store.command(sql, {**(params or {}), "scratch": self.database})

    def insert(self, table: str, rows: Sequence[Sequence[Any]], columns: Sequence[str]) -> None:
        """Insert rows into one of the tables."""
        self._store.insert(table, rows, columns, self.database)

    def query(self, sql: str, params: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """Rows of a SELECT as tuples."""
        return self._store.query(sql, {**(params or {}), "scratch": self.database})

    def rows(self, sql: str, params: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
        """Rows of a SELECT as dictionaries."""
        return self._store.rows(sql, {**(params or {}), "scratch": self.database})
