"""Both cohorts side by side, for all requests and for every prompt length, tenant and model."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analyzer.compare.bootstrap import Interval
from analyzer.gate.cohort import Cohort
from analyzer.gate.estimate import Estimate, attainment, difference, percentiles
from analyzer.verdict.tables import Account, Index

BY = ("all", "input_bucket", "tenant", "model")
PERCENTILES = (0.5, 0.95, 0.99)
FIGURES = ("attainment", "ttft_p50", "ttft_p95", "ttft_p99", "tpot_p50", "tpot_p95", "tpot_p99", "itl_p99")
"""Latencies are seconds; attainment is a fraction. `itl_p99`: of each request's own p99 gap, the median."""
MOST_SLICES = 50
"""Slices of one label that are told, those with most requests first."""

Better = Literal["baseline", "candidate", "neither"]


@dataclass(frozen=True)
class Figure:
    """One figure of a slice on both sides, and candidate − baseline."""

    name: str
    baseline: Interval
    candidate: Interval
    difference: Interval
    errors_apart: float | None
    """The difference in standard errors of itself."""
    better: Better | None
    """Whose, where this one interval excludes 0."""
    reason: str | None
    """Why it cannot be compared, where it cannot."""


@dataclass(frozen=True)
class Slice:
    """Requests that share a label's value."""

    by: str
    key: str | None
    requests: tuple[int, int]
    """Evaluated ones of baseline and candidate."""
    figures: list[Figure]

    @property
    def name(self) -> str:
        """The slice in words."""
        return "all requests" if self.by == "all" else f"{self.by} {self.key or 'not named'}"


def slices(baseline: Cohort, candidate: Cohort) -> list[Slice]:
    """Every slice that either side has, largest first within its label."""
    out = []
    for by in BY:
        ours, theirs = baseline.members(by), candidate.members(by)
        nobody = np.zeros(0, np.intp)
        keys = sorted(
            ours.keys() | theirs.keys(),
            key=lambda key: (-len(ours.get(key, nobody)) - len(theirs.get(key, nobody)), key or ""),
        )
        for key in keys[:MOST_SLICES]:
            out.append(
                _slice(by, key, (baseline, ours.get(key, nobody)), (candidate, theirs.get(key, nobody)))
            )
    return out


def estimates(cohort: Cohort, rows: Index, seed: int) -> dict[str, Estimate]:
    """Every figure of some requests."""
    r = cohort.situation.requests
    at = r.start[rows]
    found = {"attainment": attainment(at, r.account[rows] == Account.MET, seed)}
    for metric, values in (("ttft", r.ttft[rows]), ("tpot", r.tpot[rows])):
        told = percentiles(at, values, PERCENTILES, seed)
        found |= {f"{metric}_p{round(q * 100)}": item for q, item in zip(PERCENTILES, told, strict=True)}
    (found["itl_p99"],) = percentiles(at, cohort.itl_p99[rows], (0.5,), seed)
    return found


def _slice(by: str, key: str | None, ours: tuple[Cohort, Index], theirs: tuple[Cohort, Index]) -> Slice:
    baseline, candidate = estimates(*ours, seed=0), estimates(*theirs, seed=1)
    figures = [_figure(name, baseline[name], candidate[name]) for name in FIGURES]
    return Slice(by, key, (len(ours[1]), len(theirs[1])), figures)


def _figure(name: str, ours: Estimate, theirs: Estimate) -> Figure:
    apart, errors = difference(ours, theirs)
    reasons = [
        f"{side}: {item.reason}"
        for side, item in (("baseline", ours), ("candidate", theirs))
        if item.reason is not None
    ]
    return Figure(
        name, ours.interval, theirs.interval, apart, errors, _better(name, apart), "; ".join(reasons) or None
    )


def _better(name: str, apart: Interval) -> Better | None:
    if apart.low is None or apart.high is None:
        return None
    more: Better = "candidate" if name == "attainment" else "baseline"
    less: Better = "baseline" if name == "attainment" else "candidate"
    if apart.low > 0:
        return more
    return less if apart.high < 0 else "neither"
