"""Causes in lists and charts, as counted by minutes, are those of a diagnosis."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from analyzer.minutes import Minutes
from analyzer.slo.objectives import DEFAULT, Objectives
from analyzer.verdict.desk import Desk
from collector.store.store import Store
from tests.api.conftest import MakeClient
from tests.api.rows import NOON_NS, a_request, insert

WINDOW = {"from": str(NOON_NS // 10**9), "to": str(NOON_NS // 10**9 + 3600)}
DIAGNOSED = {**WINDOW, "ttft": str(DEFAULT.ttft), "tpot": str(DEFAULT.tpot), "target": str(DEFAULT.target)}
"""An override that changes nothing: it is not what minutes were counted by, so it is diagnosed."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Lengths of the windows that were diagnosed, in seconds."""
    found: list[float] = []
    ask: Callable[..., Any] = Desk.ask

    def counting(desk: Desk, scope: Any, *rest: Any) -> Any:
        found.append(scope.seconds)
        return ask(desk, scope, *rest)

    monkeypatch.setattr(Desk, "ask", counting)
    return found


def _fill(store: Store) -> None:
    rows = []
    for second in range(0, 1200, 10):
        ttft = 9.0 if second % 60 < 30 else 0.3
        rows.append(a_request(at=second, ttft=ttft, exposed={"prefill_compute": 0.9 * ttft}, e2e=10.0))
    insert(store, rows)


def _both(client: httpx.Client, call: str, **more: str) -> tuple[Any, Any]:
    answers = [client.get(f"/api/v1/{call}", params={**asked, **more}) for asked in (WINDOW, DIAGNOSED)]
    assert [answer.status_code for answer in answers] == [200, 200]
    return answers[0].json(), answers[1].json()


def test_counted_causes_are_those_of_a_diagnosis_and_need_none(
    store: Store, make_client: MakeClient, asked: list[float]
) -> None:
    _fill(store)
    Minutes(store, Objectives, lambda: 1).catch_up()
    client = make_client()
    kept, diagnosed = _both(client, "requests", limit="200")
    assert len(asked) == 1
    assert {row["cause"] for row in kept["requests"]} > {"none"}
    assert [row["causes"] for row in kept["requests"]] == [row["causes"] for row in diagnosed["requests"]]
    kept, diagnosed = _both(client, "slo/timeseries", step="60")
    assert [point["by_cause"] for point in kept["points"]] == [p["by_cause"] for p in diagnosed["points"]]
    assert sum(sum(point["by_cause"].values()) for point in kept["points"]) == 60
    assert asked.count(3600.0) == len(asked)


def test_what_is_not_counted_yet_is_diagnosed_by_its_blocks(
    store: Store, make_client: MakeClient, asked: list[float]
) -> None:
    _fill(store)
    Minutes(store, Objectives, lambda: 1).catch_up()
    insert(store, [a_request(at=1250.0, ttft=9.0, exposed={"prefill_compute": 8.0}, version=2)])
    client = make_client()
    kept = client.get("/api/v1/slo/timeseries", params={**WINDOW, "step": "300"}).json()
    assert sum(sum(point["by_cause"].values()) for point in kept["points"]) == 61
    assert asked == [300.0]
    listed = client.get("/api/v1/requests", params={**WINDOW, "missed": "true", "limit": "1"}).json()
    assert listed["requests"][0]["cause"]


def test_minutes_counted_by_another_objective_are_not_used(
    store: Store, make_client: MakeClient, asked: list[float]
) -> None:
    _fill(store)
    Minutes(store, Objectives, lambda: 1).catch_up()
    stricter = Objectives().override(ttft=0.1)
    configured = Objectives(tuple(_as_configured(item) for item in stricter.items))
    answer = make_client(configured).get("/api/v1/slo/timeseries", params={**WINDOW, "step": "60"}).json()
    assert sum(point["missed"] for point in answer["points"]) == 120
    assert sum(sum(point["by_cause"].values()) for point in answer["points"]) == 120
    assert asked == [3600.0]


def _as_configured(item: Any) -> Any:
    from dataclasses import replace

    return replace(item, source="configured")
