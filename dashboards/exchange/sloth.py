"""Objectives as a Sloth specification (`prometheus/v1`): Sloth makes its own rules of pdscope's counters."""

from typing import Any

from analyzer.slo.objectives import Objective, Objectives
from dashboards.exchange import indicator
from dashboards.yaml_text import dump

SLOTH_DAYS = 30
"""The period Sloth assumes; another is a flag of its command, for all objectives of a run."""


def sloth(objectives: Objectives) -> str:
    """One specification with an SLO per objective."""
    items = indicator.configured(objectives)
    names = indicator.unique_names(item.name for item in items)
    return dump(
        {
            "version": "prometheus/v1",
            "service": "pdscope",
            "slos": [_slo(name, item) for name, item in zip(names, items, strict=True)],
        }
    )


def unfit_for_sloth(objectives: Objectives) -> list[str]:
    """What a Sloth specification cannot hold of these objectives."""
    return [
        f"{item.name}: its period is {item.period_days} days; Sloth assumes {SLOTH_DAYS} unless it is run "
        f"with --default-slo-period={item.period_days}d, which then holds for every objective of the file"
        for item in indicator.configured(objectives)
        if item.period_days != SLOTH_DAYS
    ]


def _slo(name: str, item: Objective) -> dict[str, Any]:
    window = "[{{.window}}]"
    return {
        "name": name,
        "objective": indicator.percent(item),
        "description": indicator.said(item),
        "sli": {
            "events": {
                "error_query": f"sum(rate({indicator.bad(item)}{window}))",
                "total_query": f"sum(rate({indicator.evaluated(item)}{window}))",
            }
        },
        "alerting": {
            "name": "PdscopeBudgetBurn",
            "labels": {"slo": item.name},
            "page_alert": {"labels": {"severity": "page"}},
            "ticket_alert": {"labels": {"severity": "ticket"}},
        },
    }
