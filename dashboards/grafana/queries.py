"""Queries of panels: ClickHouse SQL from a file beside the builders, and PromQL."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from grafanalib.core import Target

SQL = Path(__file__).parents[1] / "sql"
CLICKHOUSE = {"type": "grafana-clickhouse-datasource", "uid": "${clickhouse}"}
PROMETHEUS = {"type": "prometheus", "uid": "${prometheus}"}
PLUGIN_VERSION = "4.20.0"
"""Version of the ClickHouse plugin whose query model this is."""

TIME_SERIES, TABLE, LOGS, TRACES = 0, 1, 2, 3
_QUERY_TYPE = {TIME_SERIES: "timeseries", TABLE: "table", LOGS: "logs", TRACES: "traces"}


@cache
def sql_text(name: str) -> str:
    """The statement in `sql/<name>.sql` without its comments, as it is sent to Grafana."""
    lines = (SQL / f"{name}.sql").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--")).strip()


@dataclass(frozen=True)
class Sql:
    """A SELECT for the ClickHouse data source and the columns its panel needs, as name → kind of type.

    Kinds: time, number, text, list. A number or a text may be null.
    """

    name: str
    columns: dict[str, str]
    format: int = TABLE

    def target(self, ref: str) -> Target:
        """The grafanalib target."""
        return ClickHouseTarget(self, refId=ref)


@dataclass(frozen=True)
class Prom:
    """A PromQL expression for the Prometheus data source."""

    expr: str
    legend: str = ""
    instant: bool = False

    def target(self, ref: str) -> Target:
        """The grafanalib target."""
        return PrometheusTarget(self, refId=ref)


Query = Sql | Prom


class ClickHouseTarget(Target):  # type: ignore[misc]
    """grafanalib knows no ClickHouse target; this is the plugin's own query model."""

    def __init__(self, query: Sql, **given: Any):
        super().__init__(**given)
        self.query = query

    def to_json_data(self) -> dict[str, Any]:
        """Return what the plugin saves of a query written as SQL."""
        return {
            "refId": self.refId,
            "datasource": CLICKHOUSE,
            "pluginVersion": PLUGIN_VERSION,
            "editorType": "sql",
            "rawSql": sql_text(self.query.name),
            "format": self.query.format,
            "queryType": _QUERY_TYPE[self.query.format],
            "meta": {"timezone": "UTC", "builderOptions": _builder(self.query.format)},
        }


def _builder(kind: int) -> dict[str, Any]:
    return {
        "database": "",
        "table": "",
        "queryType": _QUERY_TYPE[kind],
        "columns": [],
        "mode": "list",
        "limit": 1000,
    }


class PrometheusTarget(Target):  # type: ignore[misc]
    """grafanalib's Prometheus target also writes Graphite's fields; this one only Prometheus's."""

    def __init__(self, query: Prom, **given: Any):
        super().__init__(**given)
        self.query = query

    def to_json_data(self) -> dict[str, Any]:
        """Return Grafana's Prometheus query model."""
        return {
            "refId": self.refId,
            "datasource": PROMETHEUS,
            "expr": self.query.expr,
            "legendFormat": self.query.legend or "__auto",
            "instant": self.query.instant,
            "range": not self.query.instant,
            "exemplar": False,
            "editorMode": "code",
        }
