"""Percentiles of TTFT, TPOT, end-to-end time and phases, by label."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analyzer.slo.objectives import Objectives
from analyzer.slo.rows import Rows
from analyzer.slo.scope import Scope
from collector.phases import TTFT_PARTS, Phase
from collector.sql import read_sql

METRICS = ("ttft", "tpot", "itl", "e2e", *TTFT_PARTS, Phase.DECODE.value)
GROUPS = (
    "model",
    "tenant",
    "route",
    "cohort",
    "input_bucket",
    "output_bucket",
    "worker",
    "prefill_worker",
    "decode_worker",
)


@dataclass(frozen=True)
class Percentiles:
    """Seconds; None when no request has the value. `key` is None for requests without the label."""

    key: str | None
    count: int
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


def latency(
    store: Rows, scope: Scope, objectives: Objectives, metric: str, by: str | None = None, raw: bool = False
) -> list[Percentiles]:
    """Percentiles of a metric of METRICS, most requests first; without `by` one row with the key `all`.

    Gaps between tokens (`itl`) are not kept per request: their one row has count 0.
    Raises ValueError for the raw duration of `retry` and `unattributed`, which have none.
    """
    params = {**scope.params(), **objectives.params(), **_metric_params(metric, raw), "by": by or "all"}
    rows = [] if metric == "itl" else store.rows(read_sql(__file__, "latency"), params)
    if not rows and by is None:
        return [Percentiles("all", 0)]
    return [_percentiles(row) for row in rows]


def _percentiles(row: Mapping[str, Any]) -> Percentiles:
    p50, p90, p95, p99 = map(_seconds, row["quantiles"])
    return Percentiles(row["key"] or None, row["requests"], p50, p90, p95, p99, _seconds(row["longest"]))


def _metric_params(metric: str, raw: bool) -> dict[str, object]:
    """Which column and which (1-based) member of it the statement reads."""
    if metric in ("ttft", "tpot", "e2e", "itl"):
        return {"metric": metric, "phase_index": 1}
    if raw:
        if metric not in tuple(Phase):
            raise ValueError(f"{metric} is what no phase covers: it has exposed time only")
        return {"metric": "raw_phase", "phase_index": tuple(Phase).index(Phase(metric)) + 1}
    if metric == Phase.DECODE:
        return {"metric": "decode", "phase_index": 1}
    return {"metric": "exposed", "phase_index": TTFT_PARTS.index(metric) + 1}


def _seconds(ns: float) -> float:
    return round(ns / 1e9, 9)
