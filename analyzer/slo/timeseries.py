"""Attainment and goodput over time, with what the missed requests waited for."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from analyzer.slo.attainment import ratio
from analyzer.slo.objectives import Objectives
from analyzer.slo.rows import Rows
from analyzer.slo.scope import Scope
from collector.phases import TTFT_PARTS
from collector.sql import read_sql

MAX_POINTS = 2000
_STEPS = (1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400)


@dataclass
class Point:
    """One step of the window: `start_ns` is aligned to a multiple of the step."""

    start_ns: int
    seconds: float
    """How much of the step lies in the window."""
    requests: int = 0
    evaluated: int = 0
    met: int = 0
    missed: int = 0
    by_phase: Counter[str] = field(default_factory=Counter)
    """Misses by longest exposed phase; `decode` when only TPOT missed, `unknown` without a timeline."""
    by_cause: Counter[str] = field(default_factory=Counter)

    @property
    def attainment(self) -> float | None:
        """Met ÷ evaluated."""
        return ratio(self.met, self.evaluated)

    @property
    def goodput_rps(self) -> float:
        """Requests that met both objectives, per second of the step inside the window."""
        return self.met / self.seconds


def default_step(scope: Scope) -> int:
    """Seconds of a step that gives about 60 points and is a round time."""
    return next((step for step in _STEPS if scope.seconds / step <= 75), -(-int(scope.seconds) // 75))


def timeseries(store: Rows, scope: Scope, objectives: Objectives, step: int) -> list[Point]:
    """Points of `step` seconds that cover the window, also the empty ones."""
    step_ns = step * 1_000_000_000
    first, last = scope.from_ns // step_ns, (scope.to_ns - 1) // step_ns
    points = {number: _empty(number * step_ns, step_ns, scope) for number in range(first, last + 1)}
    params: dict[str, Any] = {**scope.params(), **objectives.params()}
    params |= {"step_ns": step_ns, "ttft_parts": list(TTFT_PARTS)}
    for row in store.rows(read_sql(__file__, "timeseries"), params):
        point = points[row["step"]]
        point.requests += row["requests"]
        point.evaluated += row["evaluated"]
        point.met += row["met"]
        point.missed += row["missed"]
        if row["missed"]:
            point.by_phase[row["phase"]] += row["missed"]
            point.by_cause[row["cause"]] += row["missed"]
    return list(points.values())


def _empty(start_ns: int, step_ns: int, scope: Scope) -> Point:
    inside = min(start_ns + step_ns, scope.to_ns) - max(start_ns, scope.from_ns)
    return Point(start_ns, inside / 1e9)
