"""Intervals of attainment and goodput by resampling blocks of time.

Requests that are near in time succeed and fail together, so that resampling them one by one makes intervals
too narrow: whole blocks are drawn instead (Künsch 1989, moving blocks; here without overlap). Only counts per
block are needed, so that the cost does not depend on the number of requests.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 2000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval of CONFIDENCE; all None when it cannot be made."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: float, draws: Floats) -> "Interval":
        """Percentile interval of an estimate; nan makes it unknown."""
        known = draws[np.isfinite(draws)]
        if not np.isfinite(value) or not len(known):
            return cls(None)
        low, high = np.quantile(known, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
        return cls(float(value), float(low), float(high))


class Resampled:
    """Counts of one side, drawn again RESAMPLES times by block; the same seed draws the same."""

    def __init__(self, counts: Floats, seed: int, draws: int = RESAMPLES):
        """counts: (blocks, buckets, figures)."""
        self._random = np.random.default_rng(seed)
        blocks = len(counts)
        times = self._random.multinomial(blocks, np.full(blocks, 1 / blocks), size=draws)
        self.observed: Floats = counts.sum(axis=0)
        self.drawn: Floats = np.tensordot(times.astype(float), counts, axes=1)

    def fraction(self, part: int, whole: int) -> tuple[Floats, Floats]:
        """(buckets,) and (draws, buckets) of one figure ÷ another, nan where there is nothing to divide by.

        Where all or none succeeded, resampling can only repeat that: there the draws are those of a Beta
        distribution (Jeffreys' prior), which leaves room for what was not seen.
        """
        value = _ratio(self.observed[:, part], self.observed[:, whole])
        draws = _ratio(self.drawn[..., part], self.drawn[..., whole])
        for bucket in np.flatnonzero((value == 0) | (value == 1)):
            good, all_ = self.observed[bucket, part], self.observed[bucket, whole]
            draws[:, bucket] = self._random.beta(good + 0.5, all_ - good + 0.5, len(draws))
        return value, draws


def standardised(value: Floats, draws: Floats, weights: Floats) -> tuple[float, Floats]:
    """Weighted means over buckets; a draw without some bucket shares its weight among the others."""
    used = weights > 0
    known = np.isfinite(draws[:, used])
    mass = (known * weights[used]).sum(axis=1)
    sums = np.where(known, draws[:, used], 0.0) @ weights[used]
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = np.where(mass > 0, sums / mass, np.nan)
    return float(value[used] @ weights[used]) if used.any() else float("nan"), drawn


def _ratio(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
