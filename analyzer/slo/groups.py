"""Groups of requests that share a label, each with all of its figures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analyzer.slo.attainment import Accounting, accounting, ratio
from analyzer.slo.efficiency import Efficiency
from analyzer.slo.group_budgets import GroupBudget

MAX_GROUPS = 100
"""Groups shown per label, those with most requests; the others are counted, not shown."""


@dataclass(frozen=True)
class Group:
    """Requests that share a label; `key` is None for those without it. Fractions are None when unknown."""

    key: str | None
    requests: Accounting
    ttft: float | None
    tpot: float | None
    joint: float | None
    goodput_rps: float
    budget: GroupBudget
    efficiency: Efficiency


def group(
    key: str, row: Mapping[str, Any], seconds: float, budget: GroupBudget, efficiency: Efficiency
) -> Group:
    """Make a group of one row of counts; goodput is over the whole window."""
    counts = accounting(row)
    return Group(
        key or None,
        counts,
        ratio(row.get("met_ttft", 0), counts.evaluated),
        ratio(row.get("met_tpot", 0), counts.evaluated),
        ratio(counts.met, counts.evaluated),
        counts.met / seconds,
        budget,
        efficiency,
    )


def added_up(rows: Iterable[Mapping[str, Any]], *by: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows with the same values of `by` as one row: numbers are added, lists joined."""
    out: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        known = out.setdefault(tuple(row[name] for name in by), {})
        for name, value in row.items():
            if name not in by:
                known[name] = known[name] + value if name in known else value
    return out


def largest(label: str, groups: Iterable[Group]) -> list[Group]:
    """Buckets in their own order; of other labels the MAX_GROUPS groups with most requests."""
    if label.endswith("_bucket"):
        return sorted(groups, key=lambda group: _low_edge(group.key))
    return sorted(groups, key=lambda group: (-group.requests.total, group.key or ""))[:MAX_GROUPS]


def _low_edge(bucket: str | None) -> float:
    return float("inf") if bucket is None else float(bucket.rstrip("K+").split("-")[0])
