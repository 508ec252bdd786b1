"""Objectives as OpenSLO v1 documents (https://github.com/OpenSLO/OpenSLO).

An OpenSLO indicator is a ratio of two counters; which requests were within both limits is decided by pdscope.
The limits and the selector ride along as annotations, from which an import makes the same objectives again.
"""

from typing import Any

from analyzer.slo.objectives import Objective, Objectives
from dashboards.exchange import indicator
from dashboards.yaml_text import dump, number

API_VERSION = "openslo/v1"
PREFIX = "pdscope-"
SELECTOR = {
    name: f"{PREFIX}{name.replace('_', '-')}" for name in ("model", "route", "tenant", "input_bucket")
}
"""Annotation of each member of a selector."""
NAME, TTFT, TPOT = f"{PREFIX}name", f"{PREFIX}ttft-seconds", f"{PREFIX}tpot-seconds"


def openslo(objectives: Objectives) -> str:
    """One Service per model and one SLO per objective, as YAML documents in matching order."""
    items = indicator.configured(objectives)
    services = dict.fromkeys(_service(item) for item in items)
    names = indicator.unique_names(item.name for item in items)
    documents = [
        *(_service_document(name) for name in services),
        *(_slo(name, item) for name, item in zip(names, items, strict=True)),
    ]
    return "---\n".join(dump(document) for document in documents)


def _service(objective: Objective) -> str:
    model = objective.selector.model
    return indicator.dns_label(model) if model else indicator.SERVICE


def _service_document(name: str) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "Service", "metadata": {"name": name}, "spec": {}}


def _slo(name: str, item: Objective) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "SLO",
        "metadata": {"name": name, "displayName": item.name, "annotations": _annotations(item)},
        "spec": {
            "description": indicator.said(item),
            "service": _service(item),
            "indicator": {
                "metadata": {"name": f"{name[:55].rstrip('-')}-within"},
                "spec": {"ratioMetric": _ratio(item)},
            },
            "timeWindow": [{"duration": f"{item.period_days}d", "isRolling": True}],
            "budgetingMethod": "Occurrences",
            "objectives": [{"displayName": "TTFT and TPOT", "target": item.target}],
        },
    }


def _annotations(item: Objective) -> dict[str, str]:
    selected = {SELECTOR[name]: value for name, value in vars(item.selector).items() if value}
    return {NAME: item.name, TTFT: number(item.ttft), TPOT: number(item.tpot), **selected}


def _ratio(item: Objective) -> dict[str, Any]:
    return {
        "counter": True,
        "good": _source(f"sum({indicator.good(item)})"),
        "total": _source(f"sum({indicator.evaluated(item)})"),
    }


def _source(query: str) -> dict[str, Any]:
    return {"metricSource": {"type": "Prometheus", "spec": {"query": query}}}
