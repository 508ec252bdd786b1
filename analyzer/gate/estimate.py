"""Percentiles and attainment of some requests with intervals, by resampling blocks of time."""

from dataclasses import dataclass

import numpy as np

from analyzer.compare.bootstrap import Interval, Resampled
from analyzer.verdict.tables import Flags, Floats

DRAWS = 400
BLOCKS = 100
LEAST = 20
"""Fewer requests than this say nothing."""
BEYOND = 2
"""Requests that must lie beyond a percentile for it to be told."""
DRAWS_AT_ONCE = 20


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval and draws; a reason when it cannot be told."""

    interval: Interval
    draws: Floats
    reason: str | None = None

    @classmethod
    def unknown(cls, reason: str) -> "Estimate":
        """A figure that cannot be told."""
        return cls(Interval(None), np.zeros(0), reason)


def attainment(at: Floats, good: Flags, seed: int) -> Estimate:
    """Share of `good` requests; `at` says when each began."""
    if len(at) < LEAST:
        return Estimate.unknown(f"{len(at)} requests; at least {LEAST} are needed")
    block = _blocks(at)
    counts = np.zeros((int(block.max()) + 1, 1, 2))
    counts[:, 0, 0] = np.bincount(block, good)
    counts[:, 0, 1] = np.bincount(block)
    values, draws = Resampled(counts, seed, DRAWS).fraction(0, 1)
    return Estimate(Interval.of(float(values[0]), draws[:, 0]), draws[:, 0])


def percentiles(at: Floats, values: Floats, wanted: tuple[float, ...], seed: int) -> list[Estimate]:
    """Percentiles (fractions) of the finite values; those with too few values beyond them are not told."""
    known = np.isfinite(values)
    at, values = at[known], values[known]
    told = [q for q in wanted if len(values) >= max(LEAST, BEYOND / (1 - q) - 1e-9)]
    drawn = _drawn(at, values, tuple(told), seed) if told else np.zeros((0, 0))
    out = []
    for q in wanted:
        if q not in told:
            least = max(LEAST, round(BEYOND / (1 - q)))
            out.append(Estimate.unknown(f"{len(values)} requests; p{q * 100:g} needs {least}"))
            continue
        draws = drawn[:, told.index(q)]
        out.append(Estimate(Interval.of(float(np.quantile(values, q)), draws), draws))
    return out


def difference(baseline: Estimate, candidate: Estimate) -> tuple[Interval, float | None]:
    """candidate − baseline, and how many of its standard errors it is from 0; unknown where one is."""
    if baseline.interval.value is None or candidate.interval.value is None:
        return Interval(None), None
    draws = candidate.draws - baseline.draws
    apart = Interval.of(candidate.interval.value - baseline.interval.value, draws)
    spread = float(draws.std())
    return apart, (apart.value or 0.0) / spread if spread > 0 else None


def _blocks(at: Floats) -> np.ndarray:
    """Number of the block of time of each request: BLOCKS of them, fewer where there are few requests."""
    count = int(min(BLOCKS, max(2, len(at) // 5)))
    first, last = float(at.min()), float(at.max())
    width = max(last - first, 1e-9) / count
    block = np.minimum((at - first) / width, count - 1).astype(np.intp)
    return np.unique(block, return_inverse=True)[1]


def _drawn(at: Floats, values: Floats, wanted: tuple[float, ...], seed: int) -> Floats:
    """(DRAWS, wanted): percentiles of the blocks drawn again."""
    block = _blocks(at)
    blocks = int(block.max()) + 1
    order = np.argsort(values)
    ordered, of_block = values[order], block[order]
    rng = np.random.default_rng(seed)
    out = np.empty((DRAWS, len(wanted)))
    for first in range(0, DRAWS, DRAWS_AT_ONCE):
        times = rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=DRAWS_AT_ONCE)
        reached = np.cumsum(times[:, of_block], axis=1)
        for row, sums in enumerate(reached):
            at_least = np.searchsorted(sums, np.array(wanted) * sums[-1])
            out[first + row] = ordered[np.minimum(at_least, len(ordered) - 1)]
    return out
