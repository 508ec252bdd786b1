"""Objectives as Pyrra's ServiceLevelObjective (`pyrra.dev/v1alpha1`), one document each."""

from typing import Any

from analyzer.slo.objectives import Objective, Objectives
from dashboards.exchange import indicator
from dashboards.yaml_text import dump, number


def pyrra(objectives: Objectives) -> str:
    """A document per objective."""
    items = indicator.configured(objectives)
    names = indicator.unique_names(item.name for item in items)
    return "---\n".join(dump(_slo(name, item)) for name, item in zip(names, items, strict=True))


def _slo(name: str, item: Objective) -> dict[str, Any]:
    return {
        "apiVersion": "pyrra.dev/v1alpha1",
        "kind": "ServiceLevelObjective",
        "metadata": {"name": name},
        "spec": {
            "target": number(indicator.percent(item)),
            "window": f"{item.period_days}d",
            "description": indicator.said(item),
            "indicator": {
                "ratio": {
                    "errors": {"metric": indicator.bad(item)},
                    "total": {"metric": indicator.evaluated(item)},
                }
            },
        },
    }
