"""What the REST application needs from the process it runs in."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from prometheus_client import CollectorRegistry

from analyzer.api.audit import AuditLog
from analyzer.api.plan_jobs import Planner
from analyzer.slo.objectives import Objectives
from analyzer.telemetry import CheckUps
from analyzer.verdict.desk import Desk
from collector.receive.formats import FileReport
from collector.settings import Settings
from collector.store.store import Store
from collector.tokens import Grant


class Importer(Protocol):
    """Stores files of telemetry."""

    def import_file(self, path: Path, name: str) -> FileReport:
        """Store what `path` holds; `name` is what the report calls it. The format is told by the content.

        Raises BadBody when it is no format pdscope reads, StoreError, Unavailable.
        """
        ...


@dataclass(frozen=True)
class Readiness:
    """Whether the process can take work; `reasons` say why not."""

    ready: bool
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Services:
    """Everything the routes use; one per application."""

    store: Store
    objectives: Callable[[], Objectives]
    importer: Importer | None
    registry: CollectorRegistry
    ready: Callable[[], Readiness]
    settings: Settings
    assembled: Callable[[], int] | None = None
    """Newest ingest sequence taken into requests; without it all that is stored counts as taken."""
    judged: Callable[[], int] = lambda: 0
    """Changes when requests were judged again although nothing came."""
    grants: tuple[Grant, ...] = ()
    """What tokens besides the operator's let their holders do."""
    audit: AuditLog | None = None
    stored_until: Callable[[], float] = lambda: math.inf
    """Everything acknowledged before this (Unix seconds) is stored; infinite while nothing waits."""

    @cached_property
    def planner(self) -> Planner:
        """Runs plans; those that are done lie beside an embedded store."""
        return Planner(None if self.store.path is None else self.store.path / "plans")

    @cached_property
    def desk(self) -> Desk:
        """Answers questions about windows."""

        def stored() -> int:
            return self.store.last_sequence

        def quiet_s() -> float:
            return self.store.quiet_s

        return Desk(
            self.store,
            stored,
            self.assembled or stored,
            self.stored_until,
            quiet_s,
            self.judged,
            self.store.behind_s,
        )

    @cached_property
    def check_ups(self) -> CheckUps:
        """Checks the telemetry of windows."""
        return CheckUps(self.store, self.desk)
