"""Objectives as pdscope's own `slo.yaml`."""

from collections.abc import Iterable
from typing import Any

from analyzer.slo.objectives import Objective
from dashboards.yaml_text import dump


def slo_yaml(items: Iterable[Objective]) -> str:
    """The file, in matching order."""
    return dump({"objectives": [_objective(item) for item in items]})


def _objective(item: Objective) -> dict[str, Any]:
    selector = {name: value for name, value in vars(item.selector).items() if value}
    return {
        "name": item.name,
        **({"selector": selector} if selector else {}),
        "ttft": item.ttft,
        "tpot": item.tpot,
        "target": item.target,
        "period_days": item.period_days,
    }
