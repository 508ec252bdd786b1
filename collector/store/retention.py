"""How long each table keeps its rows, counted from when they were stored, not from the time they tell of.

So an imported incident of last year stays as long as anything else. Rows go by whole parts, once the newest
row of a part is over its time: nothing is rewritten to forget.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from collector.sql import read_sql


@dataclass(frozen=True)
class Retention:
    """Days to keep: what was observed, what was made of it, and counted minutes."""

    spans_days: int = 14
    requests_days: int = 90
    rollups_days: int = 400


_TABLES = (
    ("spans", "ingested_at", "spans_days"),
    ("span_facts", "ingested_at", "spans_days"),
    ("trace_windows", "ingested_at", "spans_days"),
    ("signals", "ingested_at", "spans_days"),
    ("requests", "ingested_at", "requests_days"),
    ("identity", "ingested_at", "requests_days"),
    ("transfers", "ingested_at", "requests_days"),
    ("span_owners", "ingested_at", "requests_days"),
    ("request_causes_kept", "written_at", "requests_days"),
    ("resources", "seen_at", "rollups_days"),
    ("ingest_log", "ingested_at", "rollups_days"),
    ("metric_ingest_log", "ingested_at", "rollups_days"),
    ("objective_minutes_kept", "computed_at", "rollups_days"),
    ("latency_minutes_kept", "computed_at", "rollups_days"),
    ("cause_minutes", "written_at", "rollups_days"),
    ("findings_kept", "written_at", "rollups_days"),
)
"""Table, its column that says when a row was stored, and which member of Retention holds its days."""


class _Store(Protocol):
    def command(self, sql: str, params: Mapping[str, Any] | None = None) -> object: ...

    def rows(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]: ...


def apply_retention(store: _Store, retention: Retention) -> list[str]:
    """Set the tables' TTL where it differs; return the tables changed. Raises StoreError."""
    changed = []
    found = {row["name"]: row for row in store.rows(read_sql(__file__, "retention"))}
    for table, column, member in _TABLES:
        days = getattr(retention, member)
        if table not in found or column not in found[table]["columns"] or found[table]["days"] == days:
            continue
        store.command(read_sql(__file__, "keep_by_part"), {"table": table})
        store.command(read_sql(__file__, "keep_days"), {"table": table, "column": column, "days": days})
        changed.append(table)
    return changed
