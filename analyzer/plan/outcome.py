"""What a simulated layout did to the requests, and its figures over a measured window. All modelled."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from math import inf

import numpy as np
import numpy.typing as npt

from analyzer.plan.errors import BadPlan, need_positive
from analyzer.plan.instance import Instance
from analyzer.plan.layout import Layout, Pool
from analyzer.plan.provenance import Label
from analyzer.plan.workload import Workload

Floats = npt.NDArray[np.float64]


class End(IntEnum):
    """How a simulated request ended."""

    OK = 0
    TOO_LARGE = 1
    LEASE = 2
    WORKER_LOST = 3
    STUCK = 4


@dataclass(frozen=True, slots=True)
class Run:
    """One layout under one workload; columns are per request, seconds, nan where it never happened.

    `busy_s` step time per worker by pool, `end_s` when the last step ended, `attempts` dispatches per
    request. `stretches` has a row per stretch: see `step_percentile`. `workers` are the instances as the run
    left them, by pool; a worker that was lost and came back is two of them.
    """

    layout: Layout
    workload: Workload
    first_s: Floats
    last_s: Floats
    end: npt.NDArray[np.int8]
    attempts: npt.NDArray[np.int32]
    stretches: Floats
    busy_s: dict[str, tuple[float, ...]]
    end_s: float
    workers: dict[Pool, tuple[Instance, ...]]


@dataclass(frozen=True, slots=True)
class Objective:
    """What a request must reach: first token within `ttft_s`, `tpot_s` a token from then on."""

    ttft_s: float = 2.0
    tpot_s: float = 0.012

    def __post_init__(self) -> None:
        need_positive("TTFT objective", self.ttft_s)
        need_positive("TPOT objective", self.tpot_s)


@dataclass(frozen=True, slots=True)
class Window:
    """Requests that arrive strictly between two times are measured; the ends warm up and drain."""

    start_s: float = 30.0
    end_s: float = 210.0

    def __post_init__(self) -> None:
        if not self.start_s < self.end_s:
            raise BadPlan(f"measured window {self.start_s} s to {self.end_s} s is empty")


PROMPTS = {"0-1K": (0, 1024), "1-4K": (1024, 4096), "4-16K": (4096, 16384), "16K+": (16384, inf)}
"""Prompt lengths told apart, tokens, lower edges included: the input buckets of observed requests."""


@dataclass(frozen=True, slots=True)
class PromptFigures:
    """What requests with prompts of one length reach; None where none of them ended well."""

    prompts: str
    measured: int
    met_count: int
    ttft50_s: float | None
    ttft95_s: float | None
    tpot50_s: float | None
    tpot95_s: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Percentiles over the measured requests that ended well; None with no such request.

    `met` share of all measured requests that ended well within both objectives. `failed` counts the rest
    by End name. `itl99_s` is the 99th percentile of step time, each step weighted by its running decodes.
    """

    measured: int
    met_count: int
    failed: dict[str, int]
    retried: int
    ttft50_s: float | None
    ttft95_s: float | None
    tpot50_s: float | None
    tpot95_s: float | None
    itl99_s: float | None
    by_prompt: tuple[PromptFigures, ...] = ()
    label: Label = Label.MODELLED

    @property
    def met(self) -> float | None:
        """Attainment; None when nothing was measured."""
        return self.met_count / self.measured if self.measured else None


def percentile(values: Floats, q: float) -> float | None:
    """sorted(values)[int(q·n)]: no interpolation, so the value is one that occurred."""
    if not len(values):
        return None
    at = min(int(q * len(values)), len(values) - 1)
    return float(np.partition(values, at)[at])


def figures(run: Run, objective: Objective, window: Window) -> Figures:
    """The figures of `run` over the requests that arrive in `window`."""
    arrival = run.workload.columns.arrival_s
    inside = (arrival > window.start_s) & (arrival < window.end_s)
    ok = inside & (run.end == End.OK)
    steps = run.workload.columns.output[ok] - 1
    ttft = run.first_s[ok] - arrival[ok]
    spread = run.last_s[ok] - run.first_s[ok]
    tpot = spread[steps > 0] / steps[steps > 0]
    met = (ttft <= objective.ttft_s) & (spread <= objective.tpot_s * steps)
    met[steps == 0] = ttft[steps == 0] <= objective.ttft_s  # one token has no TPOT to miss
    failed = {end.name.lower(): int(np.sum(inside & (run.end == end))) for end in End if end is not End.OK}
    return Figures(
        measured=int(inside.sum()),
        met_count=int(met.sum()),
        failed={name: n for name, n in failed.items() if n},
        retried=int(np.sum(inside & (run.attempts > 1))),
        ttft50_s=percentile(ttft, 0.5),
        ttft95_s=percentile(ttft, 0.95),
        tpot50_s=percentile(tpot, 0.5),
        tpot95_s=percentile(tpot, 0.95),
        itl99_s=step_percentile(run.stretches, window, 0.99),
        by_prompt=tuple(_by_prompt(run, inside, ok, objective)),
    )


def _by_prompt(
    run: Run, inside: npt.NDArray[np.bool_], ok: npt.NDArray[np.bool_], objective: Objective
) -> Iterator[PromptFigures]:
    """Figures of every prompt length that occurs."""
    load = run.workload.columns
    steps = load.output - 1
    ttft, spread = run.first_s - load.arrival_s, run.last_s - run.first_s
    for name, (low, high) in PROMPTS.items():
        chosen = inside & (load.prompt >= low) & (load.prompt < high)
        if not chosen.any():
            continue
        well = chosen & ok
        met = (ttft[well] <= objective.ttft_s) & (spread[well] <= objective.tpot_s * steps[well])
        several = well & (steps > 0)
        tpot = spread[several] / steps[several]
        yield PromptFigures(
            name, int(chosen.sum()), int(met.sum()), percentile(ttft[well], 0.5),
            percentile(ttft[well], 0.95), percentile(tpot, 0.5), percentile(tpot, 0.95),
        )  # fmt: skip


LISTED = 64
"""Stretches few enough to list their steps."""


def step_percentile(stretches: Floats, window: Window, q: float) -> float | None:
    """Token-weighted percentile of the duration of steps in `window`, without listing all steps.

    `stretches` has a row per stretch: start_s, steps, decodes, first step_s, growth per step. A step is
    inside when it starts inside. The weight of steps no longer than v is closed-form per stretch, so the
    smallest v that reaches the share q is bracketed by bisection, dropping stretches that lie outside,
    until those left can be listed or are all alike.
    """
    _, steps, decodes, first, growth = np.ascontiguousarray(_inside(stretches, window).T)
    if not len(steps):
        return None
    longest = first + growth * (steps - 1)
    target = q * float(steps @ decodes)
    low, high = 0.0, float(longest.max())
    while len(steps) > LISTED and longest.max() - first.min() > 1e-12:
        middle = (low + high) / 2
        reached = _weight(middle, steps, decodes, first, growth) >= target
        low, high = (low, middle) if reached else (middle, high)
        kept = first <= high if reached else longest > low
        if not reached:
            target -= float(steps[~kept] @ decodes[~kept])
        steps, decodes, first, growth, longest = (
            column[kept] for column in (steps, decodes, first, growth, longest)
        )
    return _listed(steps, decodes, first, growth, target)


def _listed(steps: Floats, decodes: Floats, first: Floats, growth: Floats, target: float) -> float:
    """The shortest step time up to which `target` tokens are made."""
    if len(steps) > LISTED:  # all alike
        return float(first.max())
    count = steps.astype(np.int64)
    number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    seconds = np.repeat(first, count) + np.repeat(growth, count) * number
    order = np.argsort(seconds)
    tokens = np.cumsum(np.repeat(decodes, count)[order])
    return float(seconds[order][min(np.searchsorted(tokens, target * (1 - 1e-12)), len(tokens) - 1)])


def _inside(stretches: Floats, window: Window) -> Floats:
    """The stretches without the steps that start outside the window; few of them cross its edges."""
    start, steps, _, first, growth = stretches.T
    end = start + steps * (first + growth * (steps - 1) / 2)
    rows = stretches[(end > window.start_s) & (start < window.end_s)].copy()
    crossing = (start <= window.start_s) | (end >= window.end_s)
    for k in np.flatnonzero(crossing[(end > window.start_s) & (start < window.end_s)]):
        at, count, _, seconds, more = rows[k]
        j = np.arange(count)
        starts = at + j * (seconds + more * (j - 1) / 2)
        kept = j[(starts > window.start_s) & (starts < window.end_s)]
        skipped = kept[0] if len(kept) else 0
        rows[k, 1], rows[k, 3] = len(kept), seconds + more * skipped
    kept_rows: Floats = rows[rows[:, 1] > 0]
    return kept_rows


def _weight(value: float, steps: Floats, decodes: Floats, first: Floats, growth: Floats) -> float:
    """Tokens made in steps that take `value` seconds or less."""
    below = value - first
    flat = growth == 0
    count = np.floor(below / np.where(flat, 1.0, growth)) + 1
    count[flat] = steps[flat]
    count[below < 0] = 0
    return float(np.minimum(count, steps) @ decodes)
