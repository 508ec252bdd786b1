"""What the REST application needs from the process it runs in."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from prometheus_client import CollectorRegistry

from analyzer.slo.objectives import Objectives
from collector.receive.formats import FileReport
from collector.settings import Settings
from collector.store.store import Store


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
