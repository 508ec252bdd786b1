"""Grafana-managed alerts on ClickHouse alone, for teams without Prometheus, as a provisioning file."""

from dataclasses import dataclass, field
from typing import Any

from analyzer.slo.objectives import Objectives
from dashboards.alerts.places import Places
from dashboards.alerts.windows import duration, pairs, spoken
from dashboards.boards.parts import HAND_OFF_UID, OVERVIEW_UID, WHY_UID
from dashboards.build import CLICKHOUSE_UID, FOLDER
from dashboards.grafana.queries import PLUGIN_VERSION, TABLE, sql_text
from dashboards.yaml_text import dump, number

_HEAD = "# Made by `pdscope rules build`; change slo.yaml and build again, not this file.\n"


@dataclass(frozen=True)
class Asked:
    """A SELECT over the last `seconds`, one numeric column, text columns as labels.

    period_days stands in for a dashboard's variable: alert rules have none.
    """

    ref: str
    sql: str
    seconds: int
    period_days: int = 0

    def json(self) -> dict[str, Any]:
        """Grafana's query of an alert rule."""
        return {
            "refId": self.ref,
            "datasourceUid": CLICKHOUSE_UID,
            "relativeTimeRange": {"from": self.seconds, "to": 0},
            "model": {
                "refId": self.ref,
                "pluginVersion": PLUGIN_VERSION,
                "editorType": "sql",
                "rawSql": sql_text(self.sql).replace("${period_days}", str(self.period_days)),
                "format": TABLE,
                "queryType": "table",
            },
        }


@dataclass(frozen=True)
class GrafanaAlert:
    """One rule: queries, and a math expression over them that is not 0 when it must fire."""

    uid: str
    title: str
    asked: tuple[Asked, ...]
    condition: str
    hold: str
    severity: str
    summary: str
    description: str
    board: str
    runbook: str
    labels: dict[str, str] = field(default_factory=dict)

    def json(self, places: Places) -> dict[str, Any]:
        """The rule as Grafana reads it."""
        math = {
            "refId": "C",
            "datasourceUid": "__expr__",
            "relativeTimeRange": {"from": 0, "to": 0},
            "model": {"refId": "C", "type": "math", "expression": self.condition},
        }
        return {
            "uid": self.uid,
            "title": self.title,
            "condition": "C",
            "data": [*(query.json() for query in self.asked), math],
            "noDataState": "OK",
            "execErrState": "Error",
            "for": self.hold,
            "annotations": {
                "summary": self.summary,
                "description": self.description,
                "dashboard": places.dashboard(self.board),
                "runbook_url": places.runbook(self.runbook),
            },
            "labels": {"severity": self.severity, **self.labels},
            "isPaused": False,
        }


def alerts(objectives: Objectives) -> list[GrafanaAlert]:
    """Burn of every objective by the pairs of each period, causes, late reads, orphans."""
    periods = sorted({item.period_days for item in objectives.items})
    burning = [_burn(period, index) for period in periods for index in range(len(pairs(period)))]
    return [*burning, *_others()]


def _burn(period: int, index: int) -> GrafanaAlert:
    pair = pairs(period)[index]
    factor = number(pair.factor)
    return GrafanaAlert(
        f"pdscope-burn-{period}d-{pair.number}",
        f"Budget burn over {spoken(pair.long_s)} ({period}-day objectives)",
        (
            Asked("A", "alerts/burn_rate", pair.long_s, period),
            Asked("B", "alerts/burn_rate", pair.short_s, period),
        ),
        f"$A > {factor} && $B > {factor}",
        "2m" if pair.severity == "page" else "15m",
        pair.severity,
        "{{ $labels.slo }}: the error budget burns "
        '{{ if $values.A }}{{ printf "%.1f" $values.A.Value }}{{ end }} times too fast',
        f"Over {spoken(pair.long_s)} and {spoken(pair.short_s)} requests missed more than {factor} times as "
        f"often as the target allows.",
        OVERVIEW_UID,
        "slo_burn",
    )


def _others() -> list[GrafanaAlert]:
    recent = duration(600)
    return [
        GrafanaAlert(
            "pdscope-cause",
            "A cause burns a budget",
            (Asked("A", "alerts/cause_burn", 600),),
            "$A > 1",
            "5m",
            "ticket",
            "{{ $labels.slo }}: {{ $labels.cause }} burns the budget "
            '{{ if $values.A }}{{ printf "%.1f" $values.A.Value }}{{ end }} times too fast',
            f"Requests of the last {recent} missed for {{{{ $labels.cause }}}}.",
            WHY_UID,
            "{{ $labels.cause }}",
        ),
        GrafanaAlert(
            "pdscope-late-reads",
            "KV read after its lease",
            (Asked("A", "alerts/late_reads", 600),),
            "$A > 0",
            "1m",
            "page",
            "{{ if $values.A }}{{ $values.A.Value }}{{ end }} hand-offs were read after their lease",
            "Their blocks may have held another request's data: answers may be wrong "
            "although they say success.",
            HAND_OFF_UID,
            "orphaned_kv.expired_before_read",
            {"cause": "orphaned_kv.expired_before_read", "finding": "stale_kv_read_risk"},
        ),
        GrafanaAlert(
            "pdscope-orphans",
            "Orphaned KV is held",
            (Asked("A", "alerts/orphans", 3600),),
            "$A > 10",
            "10m",
            "ticket",
            "{{ if $values.A }}{{ $values.A.Value }}{{ end }} orphaned hand-offs are held "
            "on {{ $labels.pool }}",
            "KV that no request will read keeps others out.",
            HAND_OFF_UID,
            "orphaned_kv.unclaimed",
            {"cause": "orphaned_kv.unclaimed"},
        ),
    ]


def alerting_file(objectives: Objectives, places: Places) -> str:
    """Return the provisioning file as YAML."""
    group = {
        "orgId": 1,
        "name": "pdscope",
        "folder": FOLDER,
        "interval": "1m",
        "rules": [alert.json(places) for alert in alerts(objectives)],
    }
    return _HEAD + dump({"apiVersion": 1, "groups": [group]})
