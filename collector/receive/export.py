"""One accepted export on its way to the store, and the places it can be kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from collector.errors import CollectorError
from collector.journal import Journal
from collector.receive.commit import Refused, Sink, commit


class Kind(IntEnum):
    """What a body holds; the number is the journal's kind byte and never changes its meaning."""

    TRACES = 1
    METRICS = 2


@dataclass(frozen=True)
class Export:
    """A body that was checked whole; `items` are its spans or points."""

    kind: Kind
    body: bytes
    items: int


Outcome = Refused | CollectorError
"""What became of an export: kept (less what was kept out, by reason), or why not."""


class Keeper(Protocol):
    """Where exports go. Returns once they are safe, with what became of each."""

    def keep(self, exports: Sequence[Export]) -> list[Outcome]:
        """Keep each export or say why not; does not raise CollectorErrors."""
        ...


class StoreKeeper:
    """Straight into the store, one insert per kind: exports are safe once they are stored."""

    def __init__(self, sink: Sink):
        self._sink = sink

    def keep(self, exports: Sequence[Export]) -> list[Outcome]:
        """Store all; a bad one fails alone."""
        outcomes: list[Outcome] = [{}] * len(exports)
        for kind in Kind:
            places = [place for place, export in enumerate(exports) if export.kind == kind]
            if places:
                results = commit(self._sink, [exports[place].body for place in places], kind == Kind.METRICS)
                for place, result in zip(places, results, strict=True):
                    outcomes[place] = result
        return outcomes


class JournalKeeper:
    """Into the journal: exports are safe once they are on disk; the inserter stores them after the ack."""

    def __init__(self, journal: Journal):
        self._journal = journal

    def keep(self, exports: Sequence[Export]) -> list[Outcome]:
        """Keep all or none: they share one write and one sync."""
        try:
            self._journal.append([(export.kind, export.body) for export in exports])
        except CollectorError as error:
            return [error] * len(exports)
        return [{}] * len(exports)
