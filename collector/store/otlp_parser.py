"""Parses OTLP in an in-memory engine by the schema's own views, and gives the rows as Native blocks.

So a collector that writes to a server types spans exactly as the embedded store does.
"""

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import clickhouse_connect
from clickhouse_connect.driver.client import Client

from collector.engines import ADAPTERS
from collector.engines.rules import told_by_metrics
from collector.sql import read_sql
from collector.store.engine import SETTINGS, take_large_pages
from collector.store.migrate import Migration, migrations
from collector.store.otlp_body import OtlpKind
from collector.store.otlp_insert import insert_otlp

_VIEW = re.compile(r"CREATE MATERIALIZED VIEW (\w+) TO (\w+)")
_ENTRY = re.compile(r"CREATE TABLE (\w+)\b.*ENGINE = (?:Null|Set)$", re.DOTALL)
_NEW_QUERY = re.compile(r"ALTER TABLE (\w+) MODIFY QUERY")
_FROM = re.compile(r"\bFROM (\w+)")
_ABOUT = re.compile(r"(?:CREATE|ALTER) TABLE (\w+)")


def _reads(sql: str, tables: set[str]) -> bool:
    return any(found[1] in tables for found in _FROM.finditer(sql))


@dataclass(frozen=True)
class Block:
    """Rows for one table: the columns in order, and the rows in Native."""

    table: str
    columns: tuple[str, ...]
    native: bytes


class OtlpParser:
    """An in-memory engine with the entry tables, the views on them, and tables that hold one batch."""

    def __init__(self) -> None:
        take_large_pages()
        self._client: Client = clickhouse_connect.get_client(
            interface="chdb", path=":memory:", settings=SETTINGS
        )
        self._lock = threading.Lock()
        self._targets: dict[str, tuple[str, ...]] = {}
        self._build(migrations())

    def parse(self, kind: OtlpKind, block: Sequence[bytes]) -> list[Block]:
        """Rows of a message (in pieces) by table, the insert's log last. Raises ClickHouseError: no OTLP."""
        with self._lock:
            try:
                insert_otlp(self._client, kind, block)
                found = [self._take(table) for table in self._targets]
            finally:
                for table in self._targets:
                    self._client.command("TRUNCATE TABLE {table:Identifier}", parameters={"table": table})
        kept = [item for item in found if item.native]
        return sorted(kept, key=lambda item: item.table.endswith("ingest_log"))

    def keep_private(self, names: Iterable[str]) -> None:
        """Drop the values of attributes of these names."""
        self._client.command("TRUNCATE TABLE private_attributes")
        self._client.insert("private_attributes", [[name] for name in sorted(names)], column_names=["key"])

    def close(self) -> None:
        """End the engine."""
        self._client.close()

    def _build(self, steps: list[Migration]) -> None:
        """Tables as the migrations make them, in a database aside; their like in memory, and the views."""
        views = [(step, found[2]) for step in steps if (found := _VIEW.search(step.sql))]
        stored = {target for _, target in views if not target.startswith("otlp_")}
        # Views on stored tables are the server's to run.
        views = [(step, target) for step, target in views if not _reads(step.sql, stored)]
        entries = [found[1] for step in steps if (found := _ENTRY.search(step.sql))]
        kept = list(dict.fromkeys(target for _, target in views if target not in entries))
        self._client.command("CREATE DATABASE shape")
        self._client.command("USE shape")
        for step in steps:
            about = _ABOUT.search(step.sql)
            if about and about[1] in (*kept, *entries):
                self._client.command(step.sql)
        self._client.command("USE default")
        # The names are words of the migrations' own text; AS takes no bound parameter.
        for name in entries:
            self._client.command(f"CREATE TABLE {name} AS shape.{name}")
        for name in kept:
            self._client.command(f"CREATE TABLE {name} AS shape.{name} ENGINE = Memory")
            columns = self._client.query(read_sql(__file__, "parser_columns"), parameters={"table": name})
            self._targets[name] = tuple(str(row[0]) for row in columns.result_rows)
        for step in steps:
            # Rules that views look up: in memory, and the same for every store of a release.
            about = _ABOUT.search(step.sql)
            if about and "ENGINE = Memory" in step.sql and any(_reads(v.sql, {about[1]}) for v, _ in views):
                self._client.command(step.sql)
        self._client.insert("info_rules", told_by_metrics(ADAPTERS), column_names=["metric", "label", "name"])
        for step, _ in views:
            self._client.command(step.sql)
        of_views = {found[1] for step, _ in views if (found := _VIEW.search(step.sql))}
        for step in steps:
            if (found := _NEW_QUERY.search(step.sql)) and found[1] in of_views:
                self._client.command(step.sql)

    def _take(self, table: str) -> Block:
        columns = self._targets[table]
        sql = read_sql(__file__, "parser_rows")
        native = self._client.raw_query(
            sql,
            parameters={"table": table},
            settings={"max_block_size": 1 << 20, "max_threads": 1},
            fmt="Native",
        )
        return Block(table, columns, bytes(native))
