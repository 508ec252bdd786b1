"""The SLO report of a window: every objective, all requests together, and each label on its own."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analyzer.slo.accelerators import Accelerators
from analyzer.slo.attainment import Attainment, by_objective, cumulative, look_backs
from analyzer.slo.concurrency import by_concurrency
from analyzer.slo.efficiency import efficiency, network_bytes
from analyzer.slo.group_budgets import group_budget
from analyzer.slo.groups import Group, added_up, group, largest
from analyzer.slo.objectives import Objectives
from analyzer.slo.rows import Rows
from analyzer.slo.scope import Scope
from collector.sql import read_sql

LABELS = ("model", "tenant", "route", "cohort", "input_bucket", "output_bucket", "concurrency")
_ALL = ("all", "")

Name = tuple[str, str]
"""A label and the value of it."""


@dataclass(frozen=True)
class Report:
    """Everything about one window. `left_out` counts the groups that are not shown, by label."""

    scope: Scope
    objectives: list[Attainment]
    total: Group
    groups: dict[str, list[Group]]
    left_out: dict[str, int]


def report(
    store: Rows, scope: Scope, objectives: Objectives, gpus: float | None = None, only_tenant: str = ""
) -> Report:
    """Make the report. Raises StoreError.

    gpus: accelerators of the whole scope, where workers do not say. only_tenant: see by_concurrency.
    """
    params = {**scope.params(), **objectives.params()}
    counts = store.rows(read_sql(__file__, "label_counts"), params)
    spans = look_backs(objectives)
    spent = _spent(store, scope, objectives, spans)
    accelerators = Accelerators(store, (name for row in counts for name in row["workers"]), gpus)
    made: dict[Name, Group] = {}
    for (label, key), row in {_ALL: {"workers": []}, **added_up(counts, "by", "key")}.items():
        hours = accelerators.hours(row["workers"], scope.seconds, all_of_them=label == "all")
        budget = group_budget(spent.get((label, key), ()), spans, objectives)
        made[label, key] = group(key, row, scope.seconds, budget, efficiency(row, hours, network_bytes(row)))
    of_label = {label: [item for (by, _), item in made.items() if by == label] for label in LABELS}
    of_label["concurrency"] = by_concurrency(store, scope, objectives, only_tenant)
    shown = {
        label: items if label == "concurrency" else largest(label, items) for label, items in of_label.items()
    }
    total = made[_ALL]
    return Report(
        scope,
        by_objective(
            objectives,
            {row["objective"]: row for row in counts if row["by"] == "all"},
            _of_objectives(spent.get(_ALL, ()), spans),
            scope.seconds,
            total.efficiency.gpu_hours,
        ),
        total,
        shown,
        {label: len(items) - len(shown[label]) for label, items in of_label.items()},
    )


def _spent(
    store: Rows, scope: Scope, objectives: Objectives, spans: Sequence[int]
) -> Mapping[Name, list[dict[str, Any]]]:
    """Rows of evaluated and missed requests by look-back, of each label and key."""
    starts = [max(0, scope.to_ns - span * 1_000_000_000) for span in spans]
    params = {**replace(scope, from_ns=starts[-1]).params(), **objectives.params(), "window_starts": starts}
    out: dict[Name, list[dict[str, Any]]] = defaultdict(list)
    for row in store.rows(read_sql(__file__, "label_budget"), params):
        out[row["by"], row["key"]].append(row)
    return out


def _of_objectives(
    rows: Sequence[Mapping[str, Any]], spans: Sequence[int]
) -> dict[int, dict[int, tuple[int, int]]]:
    return {
        index: cumulative(spans, [row for row in rows if row["objective"] == index])
        for index in {row["objective"] for row in rows}
    }
