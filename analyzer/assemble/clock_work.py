"""Keeps the clock offsets of recent slices in step with what requests prove about them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from analyzer.assemble.scratch import Scratch
from analyzer.clocks import TOLERANCE_NS, Bound, Contradiction, Offset, deployments, offsets, worth_applying
from collector.sql import read_sql
from collector.store import Store

_COLUMNS = ("slice", "worker", "version", "offset_ns", "low_ns", "high_ns", "contradictory")


def slices_to_correct(store: Store, scratch: Scratch, version: int) -> list[int]:
    """Take the step's requests into account; returns slices (Unix seconds) whose offsets changed.

    Nothing is done beyond a look while no stamp contradicts causality.
    """
    scratch.command(read_sql(__file__, "sql/clock_bounds"))
    doubts = scratch.query(read_sql(__file__, "sql/clock_doubts"), {"tolerance_ns": TOLERANCE_NS})
    slices = [int(row[0]) for row in doubts]
    if not slices:
        return []
    edges: dict[int, list[Bound]] = defaultdict(list)
    for row in store.rows(read_sql(__file__, "sql/clock_edges"), {"slices": slices}):
        edges[row["slice"]].append(Bound(row["earlier"], row["later"], int(row["slack_ns"])))
    applied = {
        (row["slice"], row["worker"]): row
        for row in store.rows(read_sql(__file__, "sql/clock_applied"), {"slices": slices})
    }
    changed: list[list[Any]] = []
    for slice_ in slices:
        for bounds in deployments(edges[slice_]):
            found = offsets(bounds, _router(bounds))
            changed += [[slice_, *row] for row in _changes(found, slice_, applied, version)]
    if changed:
        rows = [[_instant(row[0]), *row[1:]] for row in changed]
        store.insert("clock_offsets", rows, _COLUMNS)
    return sorted({row[0] for row in changed if row[3] != _offset(applied, row[0], row[1])})


def _router(edges: Sequence[Bound]) -> str:
    """The clock that starts requests and sends tokens: it is on both sides of bounds with most others."""
    out = Counter(edge.earlier for edge in edges)
    back = Counter(edge.later for edge in edges)
    both = {clock: min(out[clock], back[clock]) for clock in out}
    best = max(both.values())
    return min(clock for clock, many in both.items() if many == best)


def _changes(
    found: dict[str, Offset] | Contradiction, slice_: int, applied: dict[Any, Any], version: int
) -> list[list[Any]]:
    if isinstance(found, Contradiction):
        return [
            [clock, version, 0, 0, 0, 1]
            for clock in sorted(found.clocks)
            if not applied.get((slice_, clock), {}).get("contradictory")
        ]
    return [
        [clock, version, offset.offset_ns, offset.low_ns, offset.high_ns, 0]
        for clock, offset in sorted(found.items())
        if worth_applying(offset, _offset(applied, slice_, clock))
    ]


def _offset(applied: dict[Any, Any], slice_: int, clock: str) -> int:
    return int(applied.get((slice_, clock), {}).get("offset_ns", 0))


def _instant(seconds: int) -> Any:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC)
