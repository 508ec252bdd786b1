"""Objectives, points and percentiles over REST."""

import httpx
import pytest

from analyzer.slo.objectives import Objective, Objectives, Selector
from collector.store.store import Store
from tests.api.conftest import MakeClient
from tests.api.rows import NOON_NS, a_request, insert

WINDOW = {"from": "2026-03-02T12:00:00Z", "to": "2026-03-02T13:00:00Z"}


def test_slo_answers_for_every_objective(store: Store, make_client: MakeClient) -> None:
    insert(store, [a_request(1, tenant="acme"), a_request(2, ttft=9), a_request(3, outcome="cancelled")])
    acme = Objective("acme", 1.0, 0.05, selector=Selector(tenant="acme"))
    client = make_client(Objectives((acme, Objective("rest", 2.0, 0.1, target=0.9))))
    body = client.get("/api/v1/slo", params=WINDOW).json()
    first, second = body["objectives"]
    assert body["window"]["from"] == "2026-03-02T12:00:00.000000000Z"
    assert first["selector"] == {"model": None, "route": None, "tenant": "acme", "input_bucket": None}
    assert (first["attainment"]["joint"], first["budget_left"]) == (1.0, 1.0)
    assert second["requests"]["total"] == 2
    assert second["requests"]["in_flight"] is None
    assert second["burn_rates"] == {"5m": None, "30m": None} | dict.fromkeys(
        ("1h", "2h", "6h", "1d", "3d"), 10.0
    )
    assert second["network_bytes_per_good_request"] is None
    assert "network_bytes_per_good_request" in second["not_measured"]


def test_an_override_judges_by_what_is_asked(store: Store, client: httpx.Client) -> None:
    insert(store, [a_request(1, ttft=0.4), a_request(2, ttft=0.6)])
    (answer,) = client.get("/api/v1/slo", params={**WINDOW, "ttft": 0.5, "target": 0.5}).json()["objectives"]
    assert (answer["ttft"], answer["tpot"], answer["target"], answer["source"]) == (0.5, 0.1, 0.5, "override")
    assert answer["attainment"]["joint"] == 0.5
    assert answer["budget_left"] == 0.0


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z"),
        ("2026-03-02 12:00:00", "2026-03-02T13:00:00.000000000Z"),
        ("2026-03-02T13:00:00 01:00", "2026-03-02t13:00:00z"),
        ("1772452800", "1772456400.0"),
        ("1.7724528e9", "2026-03-02T05:00:00-08:00"),
    ],
)
def test_times_are_rfc3339_or_unix_seconds(store: Store, client: httpx.Client, start: str, end: str) -> None:
    insert(store, [a_request(-0.000000001), a_request(0), a_request(3599.999999999), a_request(3600)])
    (answer,) = client.get("/api/v1/slo", params={"from": start, "to": end}).json()["objectives"]
    assert answer["requests"]["total"] == 2


def test_timeseries_says_what_misses_waited_for(store: Store, client: httpx.Client) -> None:
    insert(store, [a_request(1, ttft=5, exposed={"prefill_queue": 4}), a_request(61)])
    params = {"from": str(NOON_NS // 10**9), "to": "2026-03-02T12:02:00Z", "step": 60}
    body = client.get("/api/v1/slo/timeseries", params=params).json()
    assert body["step"] == 60
    assert body["points"][0] == {
        "t": "2026-03-02T12:00:00.000000000Z",
        "requests": 1,
        "evaluated": 1,
        "met": 0,
        "missed": 1,
        "attainment": 0.0,
        "goodput_rps": 0.0,
        "by_cause": {"insufficient_evidence": 1},
        "by_phase": {"prefill_queue": 1},
    }
    assert (body["points"][1]["attainment"], body["points"][1]["by_phase"]) == (1.0, {})


def test_latency_is_in_seconds_by_label(store: Store, client: httpx.Client) -> None:
    insert(
        store,
        [a_request(1, ttft=0.25, model="a"), a_request(2, ttft=0.75, model="a"), a_request(3, model="b")],
    )
    body = client.get("/api/v1/latency", params={**WINDOW, "metric": "ttft", "by": "model"}).json()
    assert (body["metric"], body["unit"], body["note"]) == ("ttft", "s", None)
    assert [(row["key"], row["count"], row["p50"], row["max"]) for row in body["rows"]] == [
        ("a", 2, 0.5, 0.75),
        ("b", 1, 0.5, 0.5),
    ]


def test_latency_without_measurement_is_null_with_a_reason(client: httpx.Client) -> None:
    body = client.get("/api/v1/latency", params={**WINDOW, "metric": "itl"}).json()
    nothing = dict.fromkeys(("p50", "p90", "p95", "p99", "max"))
    assert body["rows"] == [{"key": "all", "count": 0, **nothing}]
    assert body["note"]
