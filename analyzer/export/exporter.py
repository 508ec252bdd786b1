"""Keeps the exported metrics up to date on a thread of its own."""

import logging
import threading
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge

from analyzer.export.finished import FinishedRequests
from analyzer.export.fleet import Fleet
from analyzer.export.objective_info import ObjectiveInfo
from analyzer.slo.objectives import Objectives
from analyzer.slo.objectives_table import write_objectives
from collector.errors import CollectorError
from collector.store import Store

log = logging.getLogger(__name__)

EVERY_S = 5.0
SHARE = 0.25
"""A refresh costs at most this part of the time: after a slow one the thread rests longer."""


class Exporter:
    """Counts finished requests, and reads the gauges of causes and of the fleet."""

    def __init__(
        self,
        store: Store,
        registry: CollectorRegistry,
        objectives: Callable[[], Objectives],
        taken: Callable[[], int],
        every_s: float = EVERY_S,
    ):
        """taken: the ingest sequence that requests take into account."""
        self._objectives = objectives
        self._taken = taken
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._store = store
        self._written: Objectives | None = None
        self._finished = FinishedRequests(store, registry, taken())
        self._fleet = Fleet(store)
        registry.register(self._fleet)
        registry.register(ObjectiveInfo(objectives))
        self._age = Gauge(
            "pdscope_export_timestamp_seconds",
            "When the figures of this page that come from the store were last read.",
            registry=registry,
        )

    def start(self) -> None:
        """Refresh until stopped. Raises StoreError when the store cannot be written."""
        self._write(self._objectives())
        self._thread = threading.Thread(target=self._run, name="exporter", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the refresh under way and stop."""
        self._stop.set()
        if self._thread:
            self._thread.join()

    def refresh(self) -> None:
        """Take everything up to now into account. Raises StoreError."""
        objectives, taken = self._objectives(), self._taken()
        self._write(objectives)
        self._finished.count(objectives, taken)
        self._fleet.refresh()
        self._age.set_to_current_time()

    def _write(self, objectives: Objectives) -> None:
        """Let dashboards know what is judged by; slo.yaml may have changed since the last time."""
        if objectives is not self._written:
            write_objectives(self._store, objectives)
            self._written = objectives

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self.refresh()
            except CollectorError as error:
                log.warning("metrics from the store are not refreshed: %s", error)
            cost = time.monotonic() - began
            self._stop.wait(max(self._every_s, cost / SHARE))
