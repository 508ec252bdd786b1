"""Keeps the table `cause_minutes`: causes by the minute requests started in, by configured objective."""

from typing import Any

from analyzer.slo.objectives import Objectives
from collector.sql import read_sql
from collector.store import Store

MINUTE_NS = 60_000_000_000
MINUTES_A_STEP = 240
"""Most minutes recomputed in one step; a longer import takes several."""


class CauseMinutes:
    """Recomputes every minute whose requests changed, whole, as a new version."""

    def __init__(self, store: Store):
        self._store = store
        self._after = int(store.query("SELECT max(version) FROM cause_minutes")[0][0])
        self._left: set[int] = set()
        self._seen = self._after

    def write(self, objectives: Objectives, upto: int) -> int:
        """Recompute what changed up to an ingest sequence; the number of minutes written. Raises StoreError.

        The newest minutes come first. What a step does not reach is done by the next.
        """
        if upto > self._seen:
            self._left |= self._changed(self._seen, upto)
            self._seen = upto
        minutes = sorted(self._left, reverse=True)[:MINUTES_A_STEP]
        params: dict[str, Any] = objectives.params()
        params |= {"objective_names": [item.name for item in objectives.items], "version": self._seen}
        for minute in minutes:
            window = {"from_ns": minute * 10**9, "to_ns": minute * 10**9 + MINUTE_NS}
            self._store.command(read_sql(__file__, "cause_minutes"), params | window)
            self._left.discard(minute)
        return len(minutes)

    def _changed(self, after: int, upto: int) -> set[int]:
        asked = {"after": after, "upto": upto, "limit": 1_000_000}
        return {int(row[0]) for row in self._store.query(read_sql(__file__, "cause_minutes_of"), asked)}
