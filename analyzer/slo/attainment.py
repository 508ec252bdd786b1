"""Attainment, goodput, error budget and burn rates of a window, by objective."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from analyzer.slo.accelerators import Accelerators
from analyzer.slo.efficiency import Efficiency, efficiency, network_bytes
from analyzer.slo.measured import Measured
from analyzer.slo.objectives import Objective, Objectives
from analyzer.slo.rows import Rows
from analyzer.slo.scope import Scope
from collector.sql import read_sql

WINDOWS = {
    "5m": 300,
    "30m": 1800,
    "1h": 3600,
    "2h": 7200,
    "6h": 21600,
    "1d": 86400,
    "3d": 259200,
}
"""Look-back windows of the burn rates, in seconds, all ending at the end of the asked window."""


@dataclass(frozen=True)
class Accounting:
    """What became of the requests of a window (telemetry convention, Accounting).

    total = evaluated + cancelled + invalid + incomplete; evaluated = met + missed.
    Rejected and errored ones are among the missed.
    """

    total: int = 0
    evaluated: int = 0
    met: int = 0
    missed: int = 0
    rejected: int = 0
    errored: int = 0
    cancelled: int = 0
    invalid: int = 0
    incomplete: int = 0


@dataclass(frozen=True)
class Attainment:
    """One objective's answer for a window. Fractions are None when nothing was evaluated."""

    objective: Objective
    requests: Accounting
    ttft: float | None
    tpot: float | None
    joint: float | None
    budget_left: float | None
    """1 - missed / allowed misses over the period that ends with the window; below 0 when overspent."""
    burn_rates: dict[str, float | None]
    """Missed fraction ÷ allowed fraction: 1 spends the budget exactly in the period."""
    goodput_rps: float
    efficiency: Efficiency
    """Answered (`ok`) requests, tokens and bytes ÷ hours of every accelerator that served the window."""


def attainments(
    store: Rows, scope: Scope, objectives: Objectives, gpus: float | None = None
) -> list[Attainment]:
    """Answer for every objective, in order, also those without requests.

    gpus: accelerators that served the scope, where the workers do not say. Raises StoreError.
    """
    params = {**scope.params(), **objectives.params()}
    counted = {row["objective"]: row for row in store.rows(read_sql(__file__, "accounting"), params)}
    budgets = _budgets(store, scope, objectives)
    workers = {name for row in counted.values() for name in row["workers"]}
    accelerators = Accelerators(store, workers, gpus)
    hours = accelerators.hours(workers, scope.seconds)
    return by_objective(objectives, counted, budgets, scope.seconds, hours)


def by_objective(
    objectives: Objectives,
    counted: Mapping[int, Mapping[str, Any]],
    budgets: Mapping[int, Mapping[int, tuple[int, int]]],
    seconds: float,
    gpu_hours: Measured,
) -> list[Attainment]:
    """Attainment of each objective from its counts and its (evaluated, missed) by look-back.

    Both by the objective's number from 1; accelerators serve all objectives together.
    """
    return [
        _attainment(item, counted.get(index, {}), budgets.get(index, {}), seconds, gpu_hours)
        for index, item in enumerate(objectives.items, start=1)
    ]


def _attainment(
    item: Objective,
    row: Mapping[str, Any],
    budget: Mapping[int, tuple[int, int]],
    seconds: float,
    gpu_hours: Measured,
) -> Attainment:
    counts = accounting(row)
    return Attainment(
        objective=item,
        requests=counts,
        ttft=ratio(row.get("met_ttft", 0), counts.evaluated),
        tpot=ratio(row.get("met_tpot", 0), counts.evaluated),
        joint=ratio(counts.met, counts.evaluated),
        budget_left=_budget_left(budget.get(item.period_days * 86400), item.target),
        burn_rates={name: burn_rate(budget.get(span), item.target) for name, span in WINDOWS.items()},
        goodput_rps=counts.met / seconds,
        efficiency=efficiency(row, gpu_hours, network_bytes(row)),
    )


def accounting(row: Mapping[str, Any]) -> Accounting:
    """Counts of a row; 0 for what it lacks."""
    return Accounting(**{member.name: row.get(member.name, 0) for member in fields(Accounting)})


def ratio(part: float, whole: float | None) -> float | None:
    """Return part ÷ whole, or None when there is nothing to divide by."""
    return part / whole if whole else None


def burn_rate(counts: tuple[int, int] | None, target: float) -> float | None:
    """How fast (evaluated, missed) spends the error budget of `target`; None when nothing was evaluated.

    Multi-window burn rates: Google, The Site Reliability Workbook, chapter 5.
    """
    if counts is None or not counts[0]:
        return None
    evaluated, missed = counts
    return round((missed / evaluated) / (1 - target), 9)


def _budget_left(counts: tuple[int, int] | None, target: float) -> float | None:
    burned = burn_rate(counts, target)
    return None if burned is None else round(1 - burned, 9)


def _budgets(store: Rows, scope: Scope, objectives: Objectives) -> dict[int, dict[int, tuple[int, int]]]:
    """(evaluated, missed) by objective index and look-back in seconds."""
    spans = look_backs(objectives)
    starts = [max(0, scope.to_ns - span * 1_000_000_000) for span in spans]
    params = {**replace(scope, from_ns=starts[-1]).params(), **objectives.params(), "window_starts": starts}
    rows = store.rows(read_sql(__file__, "budget"), params)
    return {
        index: cumulative(spans, [row for row in rows if row["objective"] == index])
        for index in {row["objective"] for row in rows}
    }


def look_backs(objectives: Objectives) -> list[int]:
    """Seconds of every look-back that budgets and burn rates need, shortest first."""
    return sorted({*WINDOWS.values(), *(item.period_days * 86400 for item in objectives.items)})


def cumulative(spans: Sequence[int], rows: Iterable[Mapping[str, Any]]) -> dict[int, tuple[int, int]]:
    """(evaluated, missed) by look-back, of rows that each hold what one look-back adds to the one before."""
    by_window = {row["window"]: (row["evaluated"], row["missed"]) for row in rows}
    evaluated = missed = 0
    out: dict[int, tuple[int, int]] = {}
    for number, span in enumerate(spans, start=1):
        more, more_missed = by_window.get(number, (0, 0))
        evaluated, missed = evaluated + more, missed + more_missed
        out[span] = (evaluated, missed)
    return out
