"""The SLO report as one CSV table: a row per objective, one for all requests, one per group of a label."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from analyzer.slo.attainment import WINDOWS, Attainment
from analyzer.slo.efficiency import Efficiency
from analyzer.slo.groups import Group
from analyzer.slo.measured import Measured
from analyzer.slo.report import Report

_COUNTS = (
    *("total", "evaluated", "met", "missed", "rejected", "errored", "cancelled", "invalid", "incomplete"),
)
_PER_HOUR = ("good_requests", "requests", "input_tokens", "output_tokens", "network_bytes")
_PER_GOOD = ("requests", "input_tokens", "output_tokens", "network_bytes", "gpu_seconds")

COLUMNS = (
    *("by", "key", "ttft_limit_s", "tpot_limit_s", "target", "period_days", *_COUNTS),
    *("attainment_ttft", "attainment_tpot", "attainment_joint", "goodput_rps", "budget_left"),
    *(f"burn_{name}" for name in WINDOWS),
    *("gpu_hours", "gpu_hours_source", "network_bytes", "network_bytes_source"),
    *(f"{name}_per_gpu_hour" for name in _PER_HOUR),
    *(f"{name}_per_good_request" for name in _PER_GOOD),
    "not_known",
)


def slo_csv(report: Report) -> str:
    """Write the report (RFC 4180, UTF-8). An empty cell is not known; `not_known` says why.

    Text that a spreadsheet would take for a formula is preceded by an apostrophe.
    """
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, restval="")
    writer.writeheader()
    for row in _rows(report):
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return out.getvalue()


def _rows(report: Report) -> Iterator[dict[str, Any]]:
    for item in report.objectives:
        limits = item.objective
        yield {
            "by": "objective",
            "key": limits.name,
            "ttft_limit_s": limits.ttft,
            "tpot_limit_s": limits.tpot,
            "target": limits.target,
            "period_days": limits.period_days,
            **_figures(item, item.budget_left, item.burn_rates),
        }
    yield {"by": "all", **_group(report.total)}
    for label, groups in report.groups.items():
        yield from ({"by": label, **_group(item)} for item in groups)


def _group(item: Group) -> dict[str, Any]:
    return {"key": item.key, **_figures(item, item.budget.left, item.budget.burn_rates)}


def _figures(
    item: Attainment | Group, budget_left: float | None, burn_rates: dict[str, float | None]
) -> dict[str, Any]:
    return {
        **vars(item.requests),
        "attainment_ttft": item.ttft,
        "attainment_tpot": item.tpot,
        "attainment_joint": item.joint,
        "goodput_rps": item.goodput_rps,
        "budget_left": budget_left,
        **{f"burn_{name}": value for name, value in burn_rates.items()},
        **_efficiency(item.efficiency),
    }


def _efficiency(used: Efficiency) -> dict[str, Any]:
    named: dict[str, Measured] = {
        "gpu_hours": used.gpu_hours,
        "network_bytes": used.network_bytes,
        **{f"{name}_per_gpu_hour": used.per_gpu_hour[name] for name in _PER_HOUR},
        **{f"{name}_per_good_request": used.per_good_request[name] for name in _PER_GOOD},
    }
    reasons = dict.fromkeys(figure.reason for figure in named.values() if figure.reason)
    return {
        **{name: figure.value for name, figure in named.items()},
        **{f"{name}_source": named[name].source for name in ("gpu_hours", "network_bytes")},
        "not_known": "; ".join(reasons),
    }


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value
