"""Counts whole minutes as their requests change: outcomes by objective, causes, findings, latencies.

A block of five minutes in which any request changed is counted again as a whole and written as a new version;
the newest version of a minute is the one that counts, so doing it twice changes nothing. Requests belong to
the minute they start in. Causes and findings are those that `GET /diagnosis` gives for the block and a model.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from analyzer.minutes.causes import (
    CauseSum,
    Labels,
    RequestCauses,
    causes_by_labels,
    causes_of_requests,
)
from analyzer.minutes.due import BLOCK_S, Due
from analyzer.minutes.findings import found_beside
from analyzer.minutes.rows import (
    CAUSE_COLUMNS,
    FINDING_COLUMNS,
    OBJECTIVE_COLUMNS,
    REQUEST_COLUMNS,
    Rows,
    cause_rows,
    finding_rows,
    objective_rows,
    request_rows,
)
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.diagnosis import diagnose
from analyzer.verdict.findings import Finding
from collector.errors import CollectorError
from collector.sql import read_sql
from collector.store import Store

log = logging.getLogger(__name__)

EVERY_S = 5.0
"""How often changes are looked for."""
SHARE = 1 / 3
"""Counting takes at most this part of the time: after a slow turn the thread rests longer."""


class Minutes:
    """Keeps the minutes up to date with `requests`. One per store; start() runs it on a thread of its own."""

    def __init__(
        self,
        store: Store,
        objectives: Callable[[], Objectives],
        taken: Callable[[], int],
        wanted: Callable[[], bool] = lambda: True,
    ):
        """taken: the ingest sequence that requests take into account; wanted: whether this process is the one
        to count, of several on one store. Raises StoreError.
        """
        self._store = store
        self._objectives = objectives
        self._taken = taken
        self._wanted = wanted
        self._take_up()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def _take_up(self) -> None:
        """Go on where the store says that counting is."""
        upto, self._version = map(int, self._store.query(read_sql(__file__, "sql/progress"))[0])
        self._noted = upto
        self._due = Due(self._store, upto)

    def start(self, every_s: float = EVERY_S) -> None:
        """Count on a thread until stopped."""
        self._thread = threading.Thread(target=self._run, args=(every_s,), name="minutes", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the block under way and stop; safe to call twice or before start."""
        self._stop.set()
        if self._thread:
            self._thread.join()

    def catch_up(self) -> int:
        """Count every block that is due; how many there were. Raises StoreError."""
        blocks = 0
        while found := self.turn():
            blocks += found
        return blocks

    def turn(self) -> int:
        """Count a few of the blocks that are due; how many there were. Raises StoreError; they stay due."""
        upto = self._taken()
        self._due.look(upto)
        blocks = self._due.take()
        for number, block in enumerate(blocks):
            if not self._wanted():
                self._due.failed(blocks[number:])
                return number
            try:
                self._count(block, upto)
            except BaseException:
                self._due.failed(blocks[number:])
                raise
            if self._stop.is_set():
                return number + 1
        if not self._due and upto > self._noted:
            self._store.insert(
                "rollup_progress", [[0, upto, self._version]], ["id", "requests_version", "version"]
            )
            self._noted = upto
        return len(blocks)

    def _count(self, block: int, upto: int) -> None:
        """Count five minutes anew. The objectives' rows come last: they say that all of it is written."""
        self._version = self._next_version()
        minutes = [datetime.fromtimestamp(block + second, UTC) for second in range(0, BLOCK_S, 60)]
        scope = Scope(block * 10**9, (block + BLOCK_S) * 10**9)
        window = {"from_ns": scope.from_ns, "to_ns": scope.to_ns}
        items, version = self._objectives(), self._version
        params = {**window, **items.params()}
        counts = self._store.rows(read_sql(__file__, "sql/objectives"), params)
        causes: dict[Labels, list[CauseSum]] = {}
        requests: list[RequestCauses] = []
        findings: list[tuple[str, Finding]] = []
        # Each model by itself: workers of different models are no siblings.
        for model, code in sorted({(row["model"], row["model_code"]) for row in counts}):
            found = diagnose(self._store, replace(scope, model=model), items, time.time_ns())
            causes |= causes_by_labels(found.situation, found.attribution, code)
            requests += causes_of_requests(found.situation, found.attribution, code)
            findings += [(model, item) for item in found_beside(found.situation, found.attribution)]
        self._store.command(
            read_sql(__file__, "sql/latency"), {**window, "minutes": minutes, "version": version}
        )
        self._insert("request_causes_kept", REQUEST_COLUMNS, request_rows(requests, version))
        self._insert("findings_kept", FINDING_COLUMNS, finding_rows(findings, minutes[0], version))
        self._insert("cause_minutes", CAUSE_COLUMNS, cause_rows(counts, causes, items, minutes, version))
        self._insert(
            "objective_minutes_kept", OBJECTIVE_COLUMNS, objective_rows(counts, items, minutes, version, upto)
        )

    def _next_version(self) -> int:
        """Milliseconds of the store's clock: of two processes that count a minute, as while one takes over
        from another that only stood still, the one that began later is right.
        """
        now = self._store.query("SELECT toUnixTimestamp64Milli(now64(3))")[0][0]
        return max(self._version + 1, int(now))

    def _insert(self, table: str, columns: Sequence[str], rows: Rows) -> None:
        if rows:
            self._store.insert(table, rows, columns)

    def _run(self, every_s: float) -> None:
        others = not self._wanted()
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                if not self._wanted():
                    others = True
                    self._stop.wait(every_s)
                    continue
                if others:
                    self._take_up()
                    others = False
                self.turn()
            except CollectorError as error:
                log.warning("minutes are not counted; it will be tried again: %s", error)
            except Exception:
                log.exception("counting minutes failed; it will be tried again")
            cost = time.monotonic() - began
            rest = cost / SHARE - cost
            self._stop.wait(rest if self._due else max(every_s, rest))
