"""The variables every dashboard has: data sources, filters, and the objectives in force."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboards.grafana.queries import CLICKHOUSE, sql_text

SHOWN, LABEL_HIDDEN, HIDDEN = 0, 1, 2
ON_LOAD, ON_TIME_CHANGE = 1, 2


@dataclass(frozen=True)
class Filter:
    """A variable filled by SQL; `multi` ones start at All."""

    name: str
    label: str
    description: str
    multi: bool = True
    refresh: int = ON_TIME_CHANGE
    hide: int = SHOWN

    def json(self) -> dict[str, Any]:
        """Grafana's variable."""
        sql = sql_text(f"variables/{self.name}")
        out = {
            "type": "query",
            "name": self.name,
            "label": self.label,
            "description": self.description,
            "datasource": CLICKHOUSE,
            "query": sql,
            "definition": sql,
            "refresh": self.refresh,
            "hide": self.hide,
            "multi": self.multi,
            "includeAll": self.multi,
            "skipUrlSync": self.hide == HIDDEN,
            "regex": "",
            "sort": 0,
            "options": [],
        }
        if self.multi:
            out["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
        return out


FILTERS = (
    Filter("model", "Model", "Requests for these models."),
    Filter("tenant", "Tenant", "Requests of these tenants."),
    Filter("route", "Route", "Requests on these routes."),
    Filter("cohort", "Cohort", "Requests of these cohorts (pd.cohort), for before and after."),
    Filter("pool", "Pool", "Requests that ran in, and signals of, pools of these roles."),
    Filter("worker", "Worker", "Requests that ran on, and signals of, these workers."),
    Filter("input_bucket", "Prompt length", "Requests with prompts of these lengths, in tokens."),
    Filter("objective", "Objective", "Requests judged by these objectives of slo.yaml.", refresh=ON_LOAD),
)
OBJECTIVES = (
    Filter(
        "objectives",
        "",
        "The objectives in force, as arguments of judged_requests.",
        multi=False,
        refresh=ON_LOAD,
        hide=HIDDEN,
    ),
    Filter(
        "objective_names",
        "",
        "Names of the objectives in force, in matching order.",
        multi=False,
        refresh=ON_LOAD,
        hide=HIDDEN,
    ),
)


def data_source(name: str, label: str, plugin: str) -> dict[str, Any]:
    """A variable that chooses a data source of a plugin."""
    return {
        "type": "datasource",
        "name": name,
        "label": label,
        "description": f"The {label} data source that pdscope's figures are read from.",
        "query": plugin,
        "refresh": ON_LOAD,
        "hide": SHOWN,
        "multi": False,
        "includeAll": False,
        "skipUrlSync": False,
        "regex": "",
        "options": [],
    }


def choice(name: str, label: str, description: str, values: Mapping[str, str]) -> dict[str, Any]:
    """A variable with fixed values, as text → value; the first is chosen."""
    options = [
        {"selected": index == 0, "text": text, "value": value}
        for index, (text, value) in enumerate(values.items())
    ]
    return {
        "type": "custom",
        "name": name,
        "label": label,
        "description": description,
        "query": ",".join(f"{text} : {value}" for text, value in values.items()),
        "options": options,
        "current": options[0],
        "hide": SHOWN,
        "multi": False,
        "includeAll": False,
        "skipUrlSync": False,
    }


def text_box(name: str, label: str, description: str) -> dict[str, Any]:
    """A variable that is typed in."""
    return {
        "type": "textbox",
        "name": name,
        "label": label,
        "description": description,
        "query": "",
        "current": {"selected": True, "text": "", "value": ""},
        "hide": SHOWN,
        "skipUrlSync": False,
        "options": [],
    }


def shared() -> list[dict[str, Any]]:
    """Variables that every dashboard has, in order."""
    sources = [
        data_source("clickhouse", "ClickHouse", "grafana-clickhouse-datasource"),
        data_source("prometheus", "Prometheus", "prometheus"),
    ]
    return [*sources, *(item.json() for item in (*FILTERS, *OBJECTIVES))]
