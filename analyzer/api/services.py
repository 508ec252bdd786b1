"""What the REST application needs from the process it runs in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from prometheus_client import CollectorRegistry

from analyzer.slo.objectives import Objectives
from collector.settings import Settings
from collector.store.store import Store


@dataclass(frozen=True)
class ImportReport:
    """What became of every record of an imported file: records = stored + the sum of refused."""

    format: str
    """The format that was recognised."""
    records: int
    stored: int
    refused: dict[str, int] = field(default_factory=dict)
    """Records not stored, by reason."""
    notes: tuple[str, ...] = ()


class Importer(Protocol):
    """Loads a file that is not plain OTLP over the wire."""

    def import_file(self, path: Path, name: str, content_type: str | None) -> ImportReport:
        """Store what `path` holds; `name` and `content_type` are hints at its format.

        Raises BadBody when the format is not known or the file is broken, Unavailable under back-pressure.
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
