"""One figure on both sides, on the mix of prompts that they share, with intervals."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analyzer.compare.bootstrap import Floats, Interval, Resampled, standardised
from analyzer.compare.side import COUNT, Side
from analyzer.slo.measured import Measured

METRICS = {"ttft": "met_ttft", "tpot": "met_tpot", "joint": "met"}
"""Attainments by name, and the count that each is made of."""

Estimate = tuple[float, Floats]
"""A value with its draws."""


@dataclass(frozen=True)
class Contrast:
    """A figure of both sides, and candidate − baseline. `better`: whose, where the interval excludes 0."""

    baseline: Interval
    candidate: Interval
    difference: Interval
    better: Literal["baseline", "candidate", "neither"] | None
    reason: str | None = None
    """Why it is not known, when it is not."""

    @classmethod
    def unknown(cls, reason: str) -> "Contrast":
        """A figure that one side lacks."""
        nothing = Interval(None)
        return cls(nothing, nothing, nothing, None, reason)


class Pair:
    """Counts of some turns of both sides, resampled, and the weights of the mix that they share.

    The mix is that of both sides' evaluated requests together, over the buckets that both have.
    """

    def __init__(self, baseline: Side, candidate: Side, turns: slice, seed: int):
        """turns: which of the sides' turns count."""
        counts = [side.counts[:, turns].sum(axis=1) for side in (baseline, candidate)]
        self.sides = [Resampled(found, seed * 2 + number) for number, found in enumerate(counts)]
        self.evaluated = np.stack([side.observed[:, COUNT["evaluated"]] for side in self.sides])
        pooled = np.where((self.evaluated > 0).all(axis=0), self.evaluated.sum(axis=0), 0.0)
        self.weights: Floats = pooled / max(pooled.sum(), 1.0)

    def attainment(self, metric: str) -> Contrast:
        """A fraction of evaluated requests on the common mix."""
        return contrast(*(standardised(*_fraction(side, metric), self.weights) for side in self.sides))

    def attainment_of(self, bucket: int, metric: str) -> Contrast:
        """A fraction of the evaluated requests of one bucket, by its number."""
        fractions = [_fraction(side, metric) for side in self.sides]
        return contrast(*((float(value[bucket]), draws[:, bucket]) for value, draws in fractions))

    def good_per_hour(self, ours: Measured, theirs: Measured, bucket: int | None = None) -> Contrast:
        """Good requests per accelerator-hour: evaluated per hour × attainment of the common mix.

        With a bucket's number, its part of that; the parts add up.
        """
        if bucket is not None and not self.weights[bucket]:
            return Contrast.unknown("only one side has evaluated requests here")
        made: list[Estimate] = []
        for side, hours in zip(self.sides, (ours, theirs), strict=True):
            if not hours.value:
                return Contrast.unknown(hours.reason or "there are no accelerators")
            value, draws = self._good(side, bucket)
            per_hour = side.observed[:, COUNT["evaluated"]].sum() / hours.value
            drawn = side.drawn[..., COUNT["evaluated"]].sum(axis=1) / hours.value
            made.append((float(value * per_hour), draws * drawn))
        return contrast(*made)

    def _good(self, side: Resampled, bucket: int | None) -> Estimate:
        """Part of evaluated requests that met, on the common mix; of one bucket, or of all."""
        value, draws = _fraction(side, "joint")
        if bucket is None:
            return standardised(value, draws, self.weights)
        weight = self.weights[bucket]
        return float(value[bucket] * weight), draws[:, bucket] * weight


def contrast(ours: Estimate, theirs: Estimate) -> Contrast:
    """Set two independent estimates against each other."""
    difference = Interval.of(theirs[0] - ours[0], theirs[1] - ours[1])
    if difference.low is None or difference.high is None:
        sides = Interval.of(*ours), Interval.of(*theirs)
        return Contrast(*sides, difference, None, "one side has no evaluated request here")
    better: Literal["baseline", "candidate", "neither"] = "neither"
    if difference.low > 0:
        better = "candidate"
    elif difference.high < 0:
        better = "baseline"
    return Contrast(Interval.of(*ours), Interval.of(*theirs), difference, better)


def _fraction(side: Resampled, metric: str) -> tuple[Floats, Floats]:
    return side.fraction(COUNT[METRICS[metric]], COUNT["evaluated"])
