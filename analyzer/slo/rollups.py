"""Counts whole minutes for the long run: outcomes per configured objective, and sketches of latencies.

A minute in which any request changed is counted again as a whole and written as a new version; the newest
version of a minute is the one that counts, so doing a minute twice changes nothing. Requests belong to the
minute of their `first_bucket`, which identity sets once.
"""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime

from analyzer.slo.objectives import Objectives
from collector.sql import read_sql
from collector.store import Store

log = logging.getLogger(__name__)

EVERY_S = 30.0
"""How often (seconds) minutes with changed requests are counted again."""

MINUTES_AT_ONCE = 240
"""Minutes counted by one statement, which bounds its memory."""


class Rollups:
    """Keeps the minutes up to date with `requests`. One per store; start() runs it on a thread of its own."""

    def __init__(
        self, store: Store, objectives: Callable[[], Objectives], wanted: Callable[[], bool] = lambda: True
    ):
        """wanted: whether this process is the one to count, of several on one store."""
        self._store = store
        self._wanted = wanted
        self._objectives = objectives
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, every_s: float = EVERY_S) -> None:
        """Count on a thread until stopped."""
        self._thread = threading.Thread(target=self._run, args=(every_s,), name="rollups", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the statement under way and stop; safe to call twice or before start."""
        self._stop.set()
        if self._thread:
            self._thread.join()

    def catch_up(self) -> int:
        """Count every minute with requests that changed since the last time; how many there were."""
        since, version = self._progress()
        due = self._store.query(read_sql(__file__, "rollup_due"), {"since": since})
        minutes = [datetime.fromtimestamp(int(row[0]), UTC) for row in due]
        for begin in range(0, len(minutes), MINUTES_AT_ONCE):
            if self._stop.is_set():
                return begin
            self._count(minutes[begin : begin + MINUTES_AT_ONCE], version + 1)
        if due:
            reached = max(int(row[1]) for row in due)
            self._store.insert(
                "rollup_progress", [[0, reached, version + 1]], ["id", "requests_version", "version"]
            )
        return len(minutes)

    def _count(self, minutes: list[datetime], version: int) -> None:
        objectives = self._objectives()
        self._store.command(
            read_sql(__file__, "rollup_objectives"),
            {
                **objectives.params(),
                "objective_names": [item.name for item in objectives.items],
                "objective_targets": [item.target for item in objectives.items],
                "minutes": minutes,
                "version": version,
            },
        )
        self._store.command(read_sql(__file__, "rollup_latency"), {"minutes": minutes, "version": version})

    def _progress(self) -> tuple[int, int]:
        rows = self._store.query(read_sql(__file__, "rollup_progress"))
        return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)

    def _run(self, every_s: float) -> None:
        while not self._stop.wait(every_s):
            try:
                if self._wanted():
                    self.catch_up()
            except Exception:
                log.exception("counting minutes failed; it will be tried again")
