"""What an engine's histogram saw in a window: mean from its sum and count, and what its buckets can say."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

SATURATED_FRACTION = 0.5
"""Above this share of values beyond the top finite bound the histogram's quantiles are floors."""


@dataclass(frozen=True)
class Between:
    """A quantile known only to its bucket; `high` is None above the top finite bound: `low` is a floor."""

    low: float | None
    high: float | None

    @property
    def is_floor(self) -> bool:
        """Whether only "more than `low`" may be said."""
        return self.high is None


@dataclass(frozen=True)
class HistogramSummary:
    """The increase of one metric of one worker, in the metric's own unit.

    buckets[i] counts values in (bounds[i-1], bounds[i]], the last those above every bound; empty when the
    buckets are not known for all of `count`. sum: None when the sender gave none.
    """

    pool: str
    worker: str
    model: str
    metric: str
    unit: str
    count: int
    sum: float | None
    bounds: tuple[float, ...]
    buckets: tuple[int, ...]
    resets: int

    @property
    def mean(self) -> float | None:
        """Sum ÷ count, true whatever the buckets are."""
        return self.sum / self.count if self.sum is not None and self.count else None

    @property
    def above_top(self) -> float | None:
        """Share of the values above the top finite bound."""
        return self.buckets[-1] / self.count if self.bounds and self.buckets and self.count else None

    @property
    def saturated(self) -> bool:
        """Whether most values lie above the top finite bound."""
        return (self.above_top or 0.0) > SATURATED_FRACTION

    def quantile(self, q: float) -> Between | None:
        """The bucket that holds quantile `q`, 0 < q <= 1; None when no bucket is known."""
        if not self.bounds or not self.buckets or not self.count:
            return None
        wanted, seen = q * self.count, 0
        for index, count in enumerate(self.buckets):
            seen += count
            if count and seen >= wanted:
                low = self.bounds[index - 1] if index else None
                return Between(low, self.bounds[index] if index < len(self.bounds) else None)
        return None


def histograms(rows: Iterable[Mapping[str, Any]]) -> list[HistogramSummary]:
    """One summary per worker and metric from rows of `sql/histograms.sql` (one per set of bounds)."""

    def key(row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in ("pool", "worker", "model", "metric"))

    return [_one(list(members)) for _, members in groupby(sorted(rows, key=key), key=key)]


def over_workers(found: Sequence[HistogramSummary]) -> HistogramSummary | None:
    """The same metric of several workers of one pool as one; None of none. Pools are never added up."""
    if not found:
        return None
    if len({(item.pool, item.metric) for item in found}) > 1:
        raise ValueError("histograms of several pools or metrics measure different things; ask for one")
    sums = [item.sum for item in found]
    bounds, buckets = _merged([(item.bounds, item.buckets, item.count) for item in found])
    first = found[0]
    return HistogramSummary(
        first.pool,
        "",
        first.model if len({item.model for item in found}) == 1 else "",
        first.metric,
        first.unit,
        sum(item.count for item in found),
        None if None in sums else sum(value for value in sums if value is not None),
        bounds,
        buckets,
        sum(item.resets for item in found),
    )


def _one(rows: Sequence[Mapping[str, Any]]) -> HistogramSummary:
    first = rows[0]
    no_sum = all(row["sum"] is None for row in rows) or any(row["without_sum"] for row in rows)
    bounds, buckets = _merged(
        [
            (row["bounds"], () if row["without_buckets"] else row["buckets"], row["count"])
            for row in rows
            if row["count"]
        ]
    )
    return HistogramSummary(
        first["pool"],
        first["worker"],
        first["model"],
        first["metric"],
        first["unit"],
        sum(row["count"] for row in rows),
        None if no_sum else sum(row["sum"] for row in rows),
        bounds,
        buckets,
        sum(row["resets"] for row in rows),
    )


_Buckets = tuple[Sequence[float], Sequence[int], int]


def _merged(members: Sequence[_Buckets]) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Add histograms with differing bounds at the bounds where every member's count is known exactly."""
    if not members or any(not buckets for _, buckets, _ in members):
        return (), ()
    if len({tuple(bounds) for bounds, _, _ in members}) == 1:
        summed = (sum(column) for column in zip(*(buckets for _, buckets, _ in members), strict=True))
        return tuple(members[0][0]), tuple(summed)
    kept: list[float] = []
    upto: list[int] = []
    for bound in sorted({bound for bounds, _, _ in members for bound in bounds}):
        counts = [_count_upto(bound, bounds, buckets) for bounds, buckets, _ in members]
        known = [count for count in counts if count is not None]
        if len(known) == len(counts):
            kept.append(bound)
            upto.append(sum(known))
    edges = [0, *upto, sum(count for _, _, count in members)]
    return tuple(kept), tuple(after - before for before, after in pairwise(edges))


def _count_upto(bound: float, bounds: Sequence[float], buckets: Sequence[int]) -> int | None:
    """How many values are at most `bound`; None when it cuts a bucket that holds some."""
    index = bisect_left(bounds, bound)
    if index < len(bounds) and bounds[index] == bound:
        return sum(buckets[: index + 1])
    return None if buckets[index] else sum(buckets[:index])
