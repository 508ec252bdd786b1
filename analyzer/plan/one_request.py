"""One request under several layouts: where its time goes in each. Modelled."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzer.plan.lanes import lanes
from analyzer.plan.layout import Colocated, Layout, Pool, Settings
from analyzer.plan.outcome import End, Run, Window
from analyzer.plan.simulate import simulate
from analyzer.plan.workload import Workload


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a request's time on a worker; seconds since it arrived."""

    part: str
    worker: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Path:
    """The parts of the request under one layout, in order; none where it did not end well."""

    layout: Layout
    parts: tuple[Part, ...]
    ttft_s: float | None


def typical_long(workload: Workload, window: Window) -> int:
    """The measured request whose prompt is nearest to the 95th percentile: what layouts differ in."""
    columns = workload.columns
    inside = np.flatnonzero((columns.arrival_s > window.start_s) & (columns.arrival_s < window.end_s))
    rows = inside if len(inside) else np.arange(len(workload))
    wanted = np.quantile(columns.prompt[rows], 0.95)
    return int(rows[np.argmin(np.abs(columns.prompt[rows] - wanted))])


def paths(workload: Workload, request: int, layouts: Sequence[Layout], settings: Settings) -> list[Path]:
    """The path of `request` under each layout, with all other requests around it."""
    return [_path(simulate(workload, layout, settings), request) for layout in layouts]


def _path(run: Run, k: int) -> Path:
    if run.end[k] != End.OK:
        return Path(run.layout, (), None)
    at, arrival = lanes(run), run.workload.arrival_s[k]
    one = isinstance(run.layout, Colocated)
    prompt = f"{Pool.COLOCATED if one else Pool.PREFILL}-{at.prefill_worker[k]}"
    stream = f"{Pool.COLOCATED if one else Pool.DECODE}-{at.decode_worker[k]}"
    cuts = [
        ("prefill_queue", prompt, arrival, at.prefill_from[k]),
        ("prefill_compute", prompt, at.prefill_from[k], at.prefill_until[k]),
        ("kv_transfer", stream, at.prefill_until[k], at.first_s[k]),
        ("decode_queue", stream, at.first_s[k], at.decode_from[k]),
        ("decode", stream, max(at.first_s[k], at.decode_from[k]), at.last_s[k]),
    ]
    parts = tuple(
        Part(part, worker, float(start - arrival), float(end - arrival))
        for part, worker, start, end in cuts
        if end > start
    )
    return Path(run.layout, parts, float(at.first_s[k] - arrival))
