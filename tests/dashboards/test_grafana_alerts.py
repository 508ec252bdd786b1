"""Grafana-managed alerts: their SQL says what the Prometheus rules would."""

import pytest

from analyzer.slo.attainment import attainments
from analyzer.slo.objectives import Objective, Objectives
from analyzer.slo.scope import EVERYTHING
from collector.store import Store
from dashboards.alerts.grafana import alerts
from dashboards.grafana.queries import sql_text
from tests.dashboards.conftest import OBJECTIVES
from tests.dashboards.grafana import Window


def rows(store: Store, name: str, period: int = 0) -> list[dict[str, object]]:
    first, last = store.query(
        "SELECT toUnixTimestamp(min(started_at)), toUnixTimestamp(max(started_at)) FROM requests"
    )[0]
    sql = sql_text(f"alerts/{name}").replace("${period_days}", str(period))
    return store.rows(Window(first, last + 3600, 60).expand(sql))


def test_burn_rates_are_those_of_rest(store: Store) -> None:
    expected = {
        a.objective.name: a.requests.missed / a.requests.evaluated / (1 - a.objective.target)
        for a in attainments(store, EVERYTHING, OBJECTIVES)
        if a.requests.evaluated
    }
    found = {row["slo"]: row["burn"] for days in (7, 30) for row in rows(store, "burn_rate", days)}
    assert found == pytest.approx(expected)


def test_a_rule_of_one_period_leaves_objectives_of_others_alone(store: Store) -> None:
    assert {row["slo"] for row in rows(store, "burn_rate", 7)} == {"o'short"}
    assert rows(store, "burn_rate", 14) == []


def test_causes_burn_with_their_share(store: Store) -> None:
    burn = {row["slo"]: float(str(row["burn"])) for days in (7, 30) for row in rows(store, "burn_rate", days)}
    by_slo: dict[object, float] = {}
    for row in rows(store, "cause_burn"):
        by_slo[row["slo"]] = by_slo.get(row["slo"], 0.0) + float(str(row["burn"]))
    assert by_slo.keys() == burn.keys()
    for slo, burned in by_slo.items():
        # causes of fewer than five misses are left out
        assert 0.5 * burn[slo] < burned <= burn[slo] + 1e-9


def test_orphans_and_late_reads_are_counted(store: Store) -> None:
    assert {row["pool"]: row["orphans"] for row in rows(store, "orphans")} == {"prefill": 1}
    assert rows(store, "late_reads") == [{"late_reads": 0}]


def test_each_period_has_its_own_windows() -> None:
    found = alerts(
        Objectives((Objective("a", 1, 0.1, 0.9, 7), Objective("b", 1, 0.1), Objective("c", 1, 0.1)))
    )
    burns = [alert for alert in found if alert.uid.startswith("pdscope-burn")]
    assert [(b.uid, [q.seconds for q in b.asked], b.condition) for b in burns][::4] == [
        ("pdscope-burn-7d-1", [840, 60], "$A > 14.4 && $B > 14.4"),
        ("pdscope-burn-30d-1", [3600, 300], "$A > 14.4 && $B > 14.4"),
    ]
    assert len(burns) == 8
