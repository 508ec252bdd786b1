"""Error budgets of groups whose requests may have different objectives.

What such a group may miss is what each objective allows of its own requests: Σ evaluated × (1 − target).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analyzer.slo.attainment import WINDOWS, cumulative
from analyzer.slo.objectives import Objectives


@dataclass(frozen=True)
class GroupBudget:
    """Burn rates by name of WINDOWS and the part of the budget left; None when nothing was allowed."""

    burn_rates: dict[str, float | None] = field(default_factory=lambda: dict.fromkeys(WINDOWS))
    left: float | None = None


def group_budget(
    rows: Iterable[Mapping[str, Any]], spans: Sequence[int], objectives: Objectives
) -> GroupBudget:
    """Budget of one group from (objective, window, evaluated, missed) rows; windows number `spans` (seconds).

    A look-back that is not among the spans stays None, and so does what is left of a period that is not.
    """
    by_objective: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_objective[row["objective"]].append(row)
    allowed: dict[int, float] = defaultdict(float)
    missed: dict[int, int] = defaultdict(int)
    period = (0.0, 0)
    for index, of_it in by_objective.items():
        item = objectives.items[index - 1]
        counts = cumulative(spans, of_it)
        for span, (evaluated, missed_of_it) in counts.items():
            allowed[span] += evaluated * (1 - item.target)
            missed[span] += missed_of_it
        evaluated, missed_of_it = counts.get(item.period_days * 86400, (0, 0))
        period = (period[0] + evaluated * (1 - item.target), period[1] + missed_of_it)
    burned = _spent(*period)
    return GroupBudget(
        {name: _spent(allowed[span], missed[span]) for name, span in WINDOWS.items()},
        None if burned is None else round(1 - burned, 9),
    )


def _spent(allowed: float, missed: int) -> float | None:
    return round(missed / allowed, 9) if allowed else None
