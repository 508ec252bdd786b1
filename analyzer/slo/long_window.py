"""Answers over long windows, from counted minutes instead of requests: configured objectives only.

A minute says how many requests met the objective that was configured when it was counted. What needs the
requests themselves (another TTFT limit, a joint figure by a label that minutes do not keep) cannot be had
from it, and is answered as far back as requests are kept.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analyzer.slo.attainment import Accounting, ratio
from analyzer.slo.rows import Rows
from analyzer.slo.scope import Scope
from collector.sql import read_sql

QUANTILES = (0.5, 0.9, 0.95, 0.99)
"""Percentiles that the minutes' sketches were made for; each within 1 % of the true value."""


@dataclass(frozen=True)
class LongAttainment:
    """One objective, as it was configured, over the minutes in which it was: limits in seconds."""

    objective: str
    ttft: float
    tpot: float
    target: float
    requests: Accounting
    joint: float | None
    causes: Mapping[str, float]
    """Missed requests by cause; fractional, as causes share a miss."""
    first_minute: datetime
    last_minute: datetime


@dataclass(frozen=True)
class LongLatency:
    """Percentiles in seconds by quantile; empty and None when nothing was measured."""

    count: int
    quantiles: Mapping[float, float]
    longest: float | None


class NotKept(ValueError):
    """A label was asked for that minutes do not keep."""


def long_attainment(store: Rows, scope: Scope) -> list[LongAttainment]:
    """One entry per objective and per definition it had; whole minutes of [from, to).

    Raises NotKept when the scope names a worker or pool.
    """
    params = _params(scope)
    causes: dict[_Definition, dict[str, float]] = defaultdict(dict)
    for row in store.rows(read_sql(__file__, "long_causes"), params):
        causes[_definition(row)][row["cause"]] = row["requests"]
    rows = store.rows(read_sql(__file__, "long_report"), params)
    return [_attainment(row, causes[_definition(row)]) for row in rows]


def long_latency(store: Rows, scope: Scope) -> dict[str, LongLatency]:
    """Percentiles of `ttft`, `tpot` and `e2e` over whole minutes of [from, to). Raises NotKept."""
    row = store.rows(read_sql(__file__, "long_latency"), _params(scope))[0]
    found = {}
    for metric in ("ttft", "tpot", "e2e"):
        count = int(row[f"{metric}_count"])
        quantiles = dict(zip(QUANTILES, row[metric], strict=True)) if count else {}
        found[metric] = LongLatency(count, quantiles, row[f"{metric}_max"])
    return found


_Definition = tuple[str, float, float, float]


def _definition(row: Mapping[str, Any]) -> _Definition:
    return (row["objective"], row["ttft_limit_seconds"], row["tpot_limit_seconds"], row["target"])


def _attainment(row: Mapping[str, Any], causes: Mapping[str, float]) -> LongAttainment:
    counts = Accounting(**{name: int(row[name]) for name in Accounting.__dataclass_fields__})
    return LongAttainment(
        objective=row["objective"],
        ttft=row["ttft_limit_seconds"],
        tpot=row["tpot_limit_seconds"],
        target=row["target"],
        requests=counts,
        joint=ratio(counts.met, counts.evaluated),
        causes=causes,
        first_minute=row["first_minute"],
        last_minute=row["last_minute"],
    )


def _params(scope: Scope) -> dict[str, Any]:
    if scope.worker or scope.pool:
        raise NotKept("minutes are not kept by worker or pool; ask for a window whose requests are kept")
    params = scope.params()
    kept = {name: params[name] for name in ("model", "tenant", "route", "cohort")}
    seconds = {name: min(params[f"{name}_ns"] // 1_000_000_000, 2**32 - 1) for name in ("from", "to")}
    return {**kept, "from_s": seconds["from"], "to_s": seconds["to"]}
