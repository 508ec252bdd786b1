"""A panel whose number REST also gives shows the same number."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry

from analyzer.api.app import create_app
from analyzer.api.server import RestServer
from analyzer.api.services import Readiness, Services
from analyzer.minutes.due import BLOCK_S
from collector.settings import Address, Settings
from collector.store import Store
from dashboards.grafana.queries import sql_text
from dashboards.grafana.variables import OBJECTIVES as HIDDEN
from tests.dashboards.conftest import OBJECTIVES
from tests.dashboards.grafana import Window


@pytest.fixture(scope="module")
def rest(store: Store) -> Iterator[httpx.Client]:
    services = Services(
        store=store,
        objectives=lambda: OBJECTIVES,
        importer=None,
        registry=CollectorRegistry(),
        ready=lambda: Readiness(True),
        settings=Settings(),
    )
    server = RestServer(create_app(services), Address("127.0.0.1", 0))
    server.start()
    with httpx.Client(base_url=f"{server.url}/api/v1", timeout=30) as client:
        yield client
    server.stop()


@pytest.fixture(scope="module")
def panel(store: Store) -> Any:
    """Rows of a panel's query over the whole minutes of the captures."""
    first, last = store.query(
        "SELECT toUnixTimestamp(toStartOfMinute(min(started_at))), toUnixTimestamp(max(started_at)) + 60 "
        "FROM requests"
    )[0]
    window = Window(first, last - last % 60, 60)
    hidden = {h.name: [store.query(window.expand(sql_text(f"variables/{h.name}")))[0][0]] for h in HIDDEN}

    def ask(
        name: str, within: tuple[int, int] = (window.start, window.end), **chosen: list[str]
    ) -> list[dict[str, Any]]:
        return store.rows(Window(*within, 60, {**hidden, **chosen}).expand(sql_text(name)))

    ask.times = {"from": window.start, "to": window.end}  # type: ignore[attr-defined]
    return ask


def get(rest: httpx.Client, path: str, panel: Any, **params: Any) -> dict[str, Any]:
    answer = rest.get(path, params={**panel.times, **params})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_attainment_and_accounting(rest: httpx.Client, panel: Any) -> None:
    for objective in get(rest, "/slo", panel)["objectives"]:
        chosen = {"objective": [objective["name"]]}
        (shown,) = panel("overview/attainment", **chosen)
        assert shown == pytest.approx(objective["attainment"])
        (counts,) = panel("overview/accounting", **chosen)
        for name, count in counts.items():
            assert count == objective["requests"][name], name
        assert counts["missed"] > 0


def test_error_budget_and_burn_rates(rest: httpx.Client, panel: Any) -> None:
    shown = {row["name"]: row for row in panel("overview/budget")}
    for objective in get(rest, "/slo", panel)["objectives"]:
        row = shown[objective["name"]]
        assert row["budget_left"] == pytest.approx(objective["budget_left"])
        for window in ("1h", "6h", "1d", "3d"):
            assert row[f"burn_{window}"] == pytest.approx(objective["burn_rates"][window])
        assert (row["period"], row["target_ratio"]) == (objective["period_days"], objective["target"])


def test_attainment_and_goodput_over_time(rest: httpx.Client, panel: Any) -> None:
    points = get(rest, "/slo/timeseries", panel, step=60)["points"]
    told = {p["t"][:19]: p for p in points if p["requests"]}
    rates = {row["time"].isoformat()[:19]: row for row in panel("overview/goodput")}
    assert rates.keys() == told.keys()
    for at, row in rates.items():
        assert row["started"] == pytest.approx(told[at]["requests"] / 60)
        assert row["goodput"] == pytest.approx(told[at]["goodput_rps"])
    for row in panel("overview/attainment_over_time"):
        assert row["joint"] == pytest.approx(told[row["time"].isoformat()[:19]]["attainment"])


def test_causes_and_longest_phases_of_misses(rest: httpx.Client, panel: Any) -> None:
    points = get(rest, "/slo/timeseries", panel, step=60)["points"]
    waits = panel("why/longest_phase")
    shown = {(row["time"].isoformat()[:19], row["part"]): row["requests"] for row in waits}
    told = {(p["t"][:19], what): n for p in points for what, n in p["by_phase"].items()}
    assert shown == told
    assert told
    missed = {p["t"][:19]: sum(p["by_cause"].values()) for p in points if p["by_cause"]}
    by_minute: Counter[str] = Counter()
    for row in panel("overview/causes_over_time"):
        by_minute[row["time"].isoformat()[:19]] += row["requests"]
    # shares of one request are added up in another order
    assert dict(by_minute) == pytest.approx(missed)


def test_causes_of_five_minutes_are_those_of_the_diagnosis(rest: httpx.Client, panel: Any) -> None:
    first = panel.times["from"] // BLOCK_S * BLOCK_S
    named: set[str] = set()
    groups = get(rest, "/attribution", panel, by="model")["groups"]
    models = [group["key"] for group in groups if group["key"]]
    for start, model in product(range(first, panel.times["to"], BLOCK_S), models):
        told = rest.get("/diagnosis", params={"from": start, "to": start + BLOCK_S, "model": model}).json()
        shown = {row["reason"]: row for row in panel("why/causes", (start, start + BLOCK_S), model=[model])}
        assert sum(row["missed"] for row in shown.values()) == pytest.approx(told["requests"]["missed"])
        dominant = panel("overview/dominant_cause", (start, start + BLOCK_S), model=[model])
        if not told["requests"]["evaluated"]:
            assert dominant == []
            continue
        assert dominant[0]["dominant"].split(" (")[0].split(":")[0] == told["dominant_cause"]
        for cause in told["causes"]:
            row = shown.pop(cause["cause"])
            assert row["missed"] == pytest.approx(cause["requests"], abs=1e-3)
            assert row["share"] == pytest.approx(cause["share"])
            assert row["met_without"] == cause["would_have_met_without_it"]
            assert (row["excess_ttft"] is None) == (cause["excess_ttft_ms"] is None)
            named.add(cause["cause"])
    assert named


def test_findings_of_five_minutes_are_those_of_the_diagnosis(rest: httpx.Client, panel: Any) -> None:
    first = panel.times["from"] // BLOCK_S * BLOCK_S
    named: set[str] = set()
    groups = get(rest, "/attribution", panel, by="model")["groups"]
    models = [group["key"] for group in groups if group["key"]]
    for start, model in product(range(first, panel.times["to"], BLOCK_S), models):
        told = rest.get("/diagnosis", params={"from": start, "to": start + BLOCK_S, "model": model}).json()
        rows = panel("why/findings", (start, start + BLOCK_S), model=[model])
        shown = {row["found"]: (row["worst"], row["most_requests"], row["words"]) for row in rows}
        assert shown == {f["finding"]: (f["severity"], f["requests"], f["detail"]) for f in told["findings"]}
        assert {row["held"] for row in rows} <= {1}
        named |= shown.keys()
    assert named
    whole = panel("why/findings", (first, panel.times["to"]))
    assert named <= {row["found"] for row in whole}
    order = [("critical", "warning", "info").index(row["worst"]) for row in whole]
    assert order == sorted(order)


def test_latency_by_prompt_length(rest: httpx.Client, panel: Any) -> None:
    shown = {row["prompt"]: row for row in panel("overview/latency_by_bucket")}
    for metric in ("ttft", "tpot"):
        for row in get(rest, "/latency", panel, metric=metric, by="input_bucket")["rows"]:
            mine = shown[row["key"] or "unknown"]
            for p in ("p50", "p95", "p99"):
                assert mine[f"{metric}_{p}"] == pytest.approx(row[p])


def test_slowest_requests(rest: httpx.Client, panel: Any) -> None:
    told = get(rest, "/requests", panel, order="slowest", limit=50)["requests"]
    shown = panel("why/slowest")
    assert [row["key"] for row in shown] == [item["key"] for item in told]
    assert [row["ttft"] for row in shown] == pytest.approx([item["ttft"] for item in told])


def test_one_request(rest: httpx.Client, panel: Any) -> None:
    key = panel("why/slowest")[0]["key"]
    told = rest.get(f"/requests/{key}").json()
    shown = {row["part"]: row["seconds"] for row in panel("request/exposed", request=[key])}
    assert shown == pytest.approx({part: s for part, s in told["exposed"].items() if s > 0})
    (verdict,) = panel("request/verdict", request=[key])
    assert (verdict["met_ttft"], verdict["met_tpot"]) == (told["met"]["ttft"], told["met"]["tpot"])
    (facts,) = panel("request/facts", request=[key])
    assert facts["ttft_seconds"] == pytest.approx(told["ttft"])
    assert len(panel("request/phases", request=[key])) == len(told["intervals"])


def test_telemetry_of_systems(rest: httpx.Client, panel: Any) -> None:
    told = {item["system"]: item for item in rest.get("/telemetry").json()["systems"]}
    for row in panel("telemetry/systems"):
        item = told[row["name"]]
        assert row["requests"] == item["requests"]
        assert row["without_outcome"] == item["without_outcome"]
        assert (row["late"], row["duplicates"]) == (item["late_spans"], item["duplicate_spans"])
