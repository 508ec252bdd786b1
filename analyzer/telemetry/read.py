"""Reads what a check-up looks at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analyzer.beside import Reading, beside
from analyzer.signals import DeadMetric, Present, dead_metrics, read_changes, read_present, read_unmapped
from analyzer.slo.scope import Scope
from collector.sql import read_sql
from collector.store import Store


@dataclass(frozen=True)
class ScrapedWorker:
    """Whether a worker that is asked answers; `since_ns` when that began, `left` why it is no target now."""

    worker: str
    pool: str
    job: str
    up: bool
    since_ns: int
    last_ns: int
    changes: int
    reason: str = ""
    left: str = ""
    left_ns: int = 0


@dataclass(frozen=True)
class SystemSpans:
    """Requests of one system in the window, and how many of them tell each phase."""

    system: str
    requests: int
    phases: Mapping[str, int]
    with_ttft: int
    engine_ttft: int
    both: int


@dataclass(frozen=True)
class Arrivals:
    """Everything that arrived in a window, as far as a check-up needs it."""

    systems: list[SystemSpans]
    request_workers: list[dict[str, Any]]
    signals: list[Present]
    unmapped: list[dict[str, Any]]
    scraped: list[ScrapedWorker]
    kinds: list[dict[str, Any]]
    bounds: list[dict[str, Any]]
    late_ends: list[dict[str, Any]]
    legs: list[dict[str, Any]] = field(default_factory=list)
    """Traces that belong to no request, by system: traces, spans, and one of them."""
    apart: list[dict[str, Any]] = field(default_factory=list)
    """Requests of a tap alone, by the system whose requests may be theirs: how many, and the id of one."""
    dead: list[DeadMetric] = field(default_factory=list)


def read_arrivals(store: Store, scope: Scope) -> Arrivals:
    """What arrived in the window of a scope, whoever it was for."""
    window = {"from_ns": scope.from_ns, "to_ns": scope.to_ns}

    with beside() as reads:

        def rows(name: str) -> Reading[list[dict[str, Any]]]:
            return reads(store.rows, read_sql(__file__, f"sql/{name}"), window)

        workers, kinds, bounds, late_ends = map(rows, ("request_workers", "kinds", "bounds", "late_ends"))
        systems, up, reasons, legs, apart = map(rows, ("systems", "up", "reasons", "legs", "apart"))
        changes = reads(read_changes, store, scope.from_ns, scope.to_ns)
        return Arrivals(
            signals=read_present(store, scope.from_ns, scope.to_ns),
            unmapped=read_unmapped(store, scope.from_ns, scope.to_ns),
            request_workers=workers.result(),
            kinds=kinds.result(),
            bounds=bounds.result(),
            late_ends=late_ends.result(),
            systems=[SystemSpans(**row) for row in systems.result()],
            scraped=_scraped(up.result(), reasons.result()),
            legs=legs.result(),
            apart=apart.result(),
            dead=dead_metrics(changes.result()),
        )


def _scraped(up: list[dict[str, Any]], reasons: list[dict[str, Any]]) -> list[ScrapedWorker]:
    said = {(row["worker"], bool(row["left"])): row for row in reasons}
    found = []
    for row in up:
        failed, left = said.get((row["worker"], False)), said.get((row["worker"], True))
        # One that was scraped again after it had left is back.
        gone = left is not None and left["at_ns"] >= row["last_ns"]
        found.append(
            ScrapedWorker(
                **{**row, "up": row["up"] > 0},
                reason=failed["reason"] if failed and not row["up"] else "",
                left=left["reason"] if left and gone else "",
                left_ns=left["at_ns"] if left and gone else 0,
            )
        )
    return found
