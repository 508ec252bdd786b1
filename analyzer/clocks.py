"""By how much clocks differ, as intervals that causality proves.

An instant a on one clock that came before an instant b on another bounds the difference of their offsets:
offset(later) - offset(earlier) ≤ b - a. All bounds together are a system of difference constraints, whose
tightest intervals are shortest paths (Cormen et al., "Introduction to Algorithms", section 22.4). The
reference clock is the one that is left as it is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

UNBOUNDED_LOW = -(2**63)
UNBOUNDED_HIGH = 2**63 - 1

TOLERANCE_NS = 2_000_000
"""Clocks kept in step by NTP differ by this much; a contradiction below it shifts nothing."""


@dataclass(frozen=True)
class Bound:
    """The least time (nanoseconds, by their stamps) from instants on one clock to later ones on another."""

    earlier: str
    later: str
    slack_ns: int


@dataclass(frozen=True)
class Offset:
    """How far a clock is ahead of the reference: somewhere in [low, high], and what is subtracted for it.

    A side may be unbounded. The two-sided offset is the middle, and wrong by at most half the width; with one
    side only nothing is shifted, unless zero is excluded: then the bound itself, the smallest that fits.
    """

    offset_ns: int
    low_ns: int
    high_ns: int

    @property
    def uncertainty_ns(self) -> int | None:
        """How far the applied offset may be off; None when a side is unbounded."""
        if self.low_ns == UNBOUNDED_LOW or self.high_ns == UNBOUNDED_HIGH:
            return None
        return max(self.high_ns - self.offset_ns, self.offset_ns - self.low_ns)


@dataclass(frozen=True)
class Contradiction:
    """Clocks whose bounds exclude each other: one jumped meanwhile, or spans are wrong."""

    clocks: frozenset[str]


def offsets(bounds: Iterable[Bound], reference: str) -> dict[str, Offset] | Contradiction:
    """Offsets of every clock that is connected with the reference."""
    edges = _tightest(bounds)
    clocks = {clock for pair in edges for clock in pair} | {reference}
    upper = _shortest(edges, clocks, reference)
    lower = _shortest({(b, a): w for (a, b), w in edges.items()}, clocks, reference)
    if upper is None or lower is None:
        return Contradiction(frozenset(clocks - {reference}))
    out: dict[str, Offset] = {}
    for clock in clocks - {reference}:
        high = upper.get(clock, UNBOUNDED_HIGH)
        low = -lower[clock] if clock in lower else UNBOUNDED_LOW
        if high != UNBOUNDED_HIGH or low != UNBOUNDED_LOW:
            out[clock] = _decide(low, high)
    return out


def deployments(bounds: Iterable[Bound]) -> list[list[Bound]]:
    """Bounds by groups of clocks that have any with each other: each needs a reference of its own."""
    group: dict[str, str] = {}

    def root(clock: str) -> str:
        while group.setdefault(clock, clock) != clock:
            clock = group[clock]
        return clock

    bounds = list(bounds)
    for bound in bounds:
        group[root(bound.earlier)] = root(bound.later)
    out: dict[str, list[Bound]] = {}
    for bound in bounds:
        out.setdefault(root(bound.later), []).append(bound)
    return list(out.values())


def _decide(low: int, high: int) -> Offset:
    if low <= TOLERANCE_NS and high >= -TOLERANCE_NS:
        return Offset(0, low, high)
    if low == UNBOUNDED_LOW:
        return Offset(high, low, high)
    if high == UNBOUNDED_HIGH:
        return Offset(low, low, high)
    return Offset((low + high) // 2, low, high)


def _tightest(bounds: Iterable[Bound]) -> dict[tuple[str, str], int]:
    out: dict[tuple[str, str], int] = {}
    for bound in bounds:
        pair = (bound.earlier, bound.later)
        out[pair] = min(bound.slack_ns, out.get(pair, bound.slack_ns))
    return out


def _shortest(
    edges: Mapping[tuple[str, str], int], clocks: Iterable[str], source: str
) -> dict[str, int] | None:
    """Bellman-Ford; None when there is a cycle of negative length that the source reaches."""
    distance = {source: 0}
    for _ in clocks:
        changed = False
        for (a, b), weight in edges.items():
            if a in distance and distance[a] + weight < distance.get(b, UNBOUNDED_HIGH):
                distance[b] = distance[a] + weight
                changed = True
        if not changed:
            return distance
    return None


def worth_applying(now: Offset, applied_ns: int) -> bool:
    """Whether an offset differs enough from what is applied to assemble requests again.

    Bounds tighten with every request; the applied value stays while it lies within them and near the middle.
    """
    if not now.low_ns - TOLERANCE_NS <= applied_ns <= now.high_ns + TOLERANCE_NS:
        return True
    width = 0 if now.uncertainty_ns is None else now.uncertainty_ns
    return abs(now.offset_ns - applied_ns) > max(TOLERANCE_NS, width)
