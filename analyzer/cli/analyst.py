"""The analyzing half of a process: requests from spans, minutes from requests, metrics from both."""

import contextlib
from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Gauge

from analyzer.assemble.assembler import Assembler
from analyzer.assemble.crew import Crew
from analyzer.assemble.names import NameLimits
from analyzer.assemble.shared import SharedAssembler
from analyzer.export import Exporter
from analyzer.minutes import Minutes
from analyzer.slo.objectives import Objectives
from collector.errors import CollectorError
from collector.settings import Settings
from collector.store import Store
from collector.store.retention import Retention, apply_retention


class Analyst:
    """Everything that derives from what was stored. `start()` once, then `stop()`."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        objectives: Callable[[], Objectives],
        registry: CollectorRegistry,
        lasting: bool,
    ):
        """lasting: also count minutes and let old rows go, which a command of a few seconds leaves alone.

        Raises StoreError.
        """
        self._store = store
        self._retention = _retention(settings) if lasting else None
        names = _name_limits(settings)
        self._assembler = (
            Assembler(store, names=names)
            if store.embedded
            else SharedAssembler(store, Crew(store), names=names)
        )
        self._minutes = Minutes(store, objectives, self.taken, self._assembler.leads)
        self._exporter = Exporter(store, registry, objectives, self.taken)
        self._ends: list[Callable[[], object]] = []
        _report_lag(self._assembler, registry)

    def taken(self) -> int:
        """Newest ingest sequence taken into requests."""
        return self._assembler.progress().taken

    def judged(self) -> int:
        """Changes when requests were judged again although nothing came."""
        return self._assembler.judged()

    def wake(self) -> None:
        """Say that new spans were stored."""
        self._assembler.wake()

    def catch_up(self) -> None:
        """Take every stored span into account."""
        self._assembler.catch_up()

    def start(self) -> None:
        """Work on threads until stopped. Raises StoreError."""
        self._assembler.start()
        self._ends.append(self._assembler.stop)
        if self._retention:
            apply_retention(self._store, self._retention)
            self._minutes.start()
            self._ends.append(self._minutes.stop)
        self._exporter.start()
        self._ends.append(self._exporter.stop)

    def stop(self) -> None:
        """Finish what is under way, in the reverse order of starting."""
        while self._ends:
            with contextlib.suppress(CollectorError):
                self._ends.pop()()


def _name_limits(settings: Settings) -> NameLimits:
    return NameLimits(settings.max_models, settings.max_tenants, settings.max_routes, settings.max_workers)


def _retention(settings: Settings) -> Retention:
    return Retention(settings.retention_spans, settings.retention_requests, settings.retention_rollups)


def _report_lag(assembler: Assembler, registry: CollectorRegistry) -> None:
    lag = Gauge(
        "pdscope_assembly_lag_inserts", "Stored inserts not yet taken into requests.", registry=registry
    )
    lag.set_function(lambda: assembler.progress().stored - assembler.progress().taken)
    step = Gauge("pdscope_assembly_step_seconds", "Time the last step of assembly took.", registry=registry)
    step.set_function(lambda: assembler.progress().last_step_s)
    over = Gauge("pdscope_names_over_limit", "Names stored as __other__ so far.", ["kind"], registry=registry)
    for kind in assembler.names.over:
        over.labels(kind).set_function(partial(assembler.names.over.__getitem__, kind))
