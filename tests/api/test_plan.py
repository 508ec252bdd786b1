"""`POST /plan` and what follows: a what-if on stored telemetry, its receipt, plots, and refusals."""

import json
import time
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from analyzer.api.plan_jobs import MOST_WAITING, Planner
from analyzer.assemble.assembler import Assembler
from analyzer.plan.deployment import Deployment
from analyzer.plan.layout import parse_layout
from analyzer.plan.receipt import digest
from analyzer.plan.simulate import simulate
from analyzer.plan.telemetry import Emission, exports
from analyzer.plan.verify import verify
from analyzer.plan.workload import Synthetic
from collector.errors import Unavailable
from collector.store.store import Store

START_S = 1_767_225_600
FACTS = {"step_overhead_s": 0.02, "flop_per_s": 60e12}
WINDOW = {"from": str(START_S - 1), "to": str(START_S + 600)}
ASK: dict[str, Any] = {
    "scope": {**WINDOW, "cohort": "split"},
    "objective": {"ttft": 4.0, "tpot": 0.05, "target": 0.95},
    "grid": {"workers": 2, "chunks": [512], "degraded": False},
    "deployment": FACTS,
}
TRACE_TABLES = (
    "spans",
    "resources",
    "identity",
    "span_facts",
    "span_owners",
    "assembly_progress",
    "transfers",
)


def serve(store: Store, layout: str, cohort: str) -> None:
    for table in TRACE_TABLES:
        store.command(f"TRUNCATE TABLE {table}")
    settings = Deployment(**FACTS).settings()  # type: ignore[arg-type]
    run = simulate(Synthetic(1.2, until_s=240, output_median=60).draw(), parse_layout(layout), settings)
    store.insert_traces(list(exports(run, settings.transfer, Emission(START_S * 10**9, "sim", cohort, 8))))
    Assembler(store).catch_up()


def finished(client: httpx.Client, ask: dict[str, Any]) -> dict[str, Any]:
    posted = client.post("/api/v1/plan", json=ask)
    assert posted.status_code == 202, posted.text
    plan: dict[str, Any] = posted.json()
    until = time.monotonic() + 60
    while plan["state"] in ("waiting", "running"):
        assert time.monotonic() < until
        time.sleep(0.05)
        plan = client.get(f"/api/v1/plan/{plan['id']}").json()
    return plan


def test_a_what_if_on_stored_requests_and_all_that_comes_with_it(store: Store, client: httpx.Client) -> None:
    serve(store, "1P+1D", "split")

    plan = finished(client, ASK)

    assert (plan["state"], plan["kind"], plan["error"]) == ("done", "what-if", None)
    assert "3 layouts" in plan["announcement"]
    assert plan["done"] == plan["of"] == 6
    assert plan["asked"]["scope"]["from"].startswith("2025-12-31T23:59:59")
    answer = plan["answer"]
    assert answer["label"] == "modelled"
    assert answer["served"] == "1P+1D"
    assert {row["layout"] for row in answer["scenarios"]} == {"2x512", "1x512", "1P+1D"}
    base = f"/api/v1/plan/{plan['id']}"
    receipt = client.get(f"{base}/receipt.json").json()
    assert receipt["digest"] == digest(receipt)
    matrix = client.get(f"{base}/receipt.csv").text
    assert matrix.startswith("scenario,layout,accelerators")
    carried = client.get(f"{base}/receipt.requests.csv.gz").content
    assert verify(json.dumps(receipt), matrix, requests=carried).status == "verified"
    for plot in ("frontier", "ratios", "lanes"):
        drawn = client.get(f"{base}/plots/{plot}.svg", params={"width": 300, "bare": True})
        assert drawn.headers["content-type"] == "image/svg+xml"
        assert ElementTree.fromstring(drawn.text).get("width") == "300"
        assert "<style" not in drawn.text
    assert client.get(f"{base}/plots/pie.svg").status_code == 404
    assert client.post("/api/v1/plan", json=ASK).json()["state"] == "done"  # the same question is asked once


def test_a_plan_that_cannot_be_made_says_why(store: Store, client: httpx.Client) -> None:
    plan = finished(client, {**ASK, "scope": {**WINDOW, "cohort": "nobody"}})

    assert plan["state"] == "failed"
    assert "no requests are stored" in plan["error"]
    assert client.get(f"/api/v1/plan/{plan['id']}/receipt.json").status_code == 404


def test_a_backtest_over_rest(store: Store, client: httpx.Client) -> None:
    serve(store, "1P+1D", "split")

    plan = finished(client, {**ASK, "against": {**WINDOW, "cohort": "split"}})

    assert (plan["kind"], plan["state"]) == ("backtest", "done")
    assert plan["answer"]["prediction"]["layout"] == "1P+1D"


def test_traffic_of_ages_is_refused_in_words(client: httpx.Client) -> None:
    ask = {**ASK, "scope": None, "synthetic": {"rate_per_s": 1e-300, "until_s": 1e300}}
    assert "take a shorter one" in finished(client, ask)["error"]


def test_supplied_traffic_needs_no_store(client: httpx.Client) -> None:
    ask = {"synthetic": {"rate_per_s": 2}, "grid": {"workers": 1, "chunks": [512], "degraded": False}}

    plan = finished(client, ask)

    assert plan["answer"]["calibration"] is None
    assert plan["answer"]["recommendation"]["layout"] == "1x512"


@pytest.mark.parametrize(
    ("change", "status", "problem"),
    [
        ({"scope": None}, 400, "give either scope"),
        ({"synthetic": {"rate_per_s": 2}}, 400, "give either scope"),
        ({"scope": {"from": "yesterday"}}, 400, "is not a time"),
        ({"scope": {"form": "1"}}, 400, "form"),
        ({"grid": {"workers": 5000}}, 400, "workers is 5000"),
        ({"grid": {"workers": 200}}, 400, "the limit is 2,000"),
        ({"grid": {"chunks": []}}, 400, "no chunk budget"),
        ({"grid": {"headroom": -1}}, 400, "headroom is -1"),
        ({"objective": {"ttft": -1}}, 400, "TTFT objective is -1"),
        ({"objective": {"target": 95}}, 400, "attainment is 95"),
        ({"deployment": {"nics": 0}}, 400, "deployment: nics is 0"),
        ({"deployment": {"nic": 1}}, 400, "deployment: unknown fields nic"),
        ({"deployment": {"retries": 10**9, "lease_s": 1e-9}}, 400, "retries is 1000000000"),
        ({"deployment": {"max_seqs": 10**9}}, 400, "max_seqs is 1000000000"),
        ({"scope": None, "synthetic": {"rate_per_s": 1, "output_max": 10**18}}, 400, "at most 10,000,000"),
        ({"scope": None, "synthetic": {"rate_per_s": 1, "prompt_max": 10**18}}, 400, "at most 10,000,000"),
        ({"deployment": {"weight_bytes": 10**400}}, 400, "deployment: field weight_bytes"),
        ({"deployment": {"accelerators": 10**400}}, 400, "deployment: field accelerators"),
        ({"deployment": {"\ud800": 1}}, 400, "unknown fields \\ud800"),
        ({"scope": {"tenant": "\ud800"}}, 400, "no half of a surrogate"),
        ({"scope": None, "synthetic": {"rate_per_s": 0}}, 400, "rate_per_s is 0"),
        ({"scope": None, "synthetic": {"rate_per_s": 1e4}}, 400, "are more than 200,000"),
        ({"scope": None, "synthetic": {"rate_per_s": 2}, "against": {}}, 400, "needs stored requests"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    client: httpx.Client, change: dict[str, Any], status: int, problem: str
) -> None:
    content = json.dumps({**ASK, **change})  # escapes halves of surrogates, which httpx's own way cannot send
    answer = client.post("/api/v1/plan", content=content, headers={"content-type": "application/json"})

    assert answer.status_code == status, answer.text
    assert problem in answer.json()["error"]["message"]


@pytest.mark.parametrize("plan_id", ["0123456789abcdef", "..%2Fsecret", "x"])
def test_an_unknown_plan_is_not_found(client: httpx.Client, plan_id: str) -> None:
    for rest in ("", "/receipt.json", "/receipt.csv", "/receipt.requests.csv.gz", "/plots/frontier.svg"):
        assert client.get(f"/api/v1/plan/{plan_id}{rest}").status_code == 404


def test_a_finished_plan_outlives_the_process_and_too_many_are_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    planner = Planner(tmp_path / "plans")
    job = planner.submit("what-if", {"a": 1}, lambda job, report: {"label": "modelled"})
    until = time.monotonic() + 20
    while job.state != "done":
        assert time.monotonic() < until
        time.sleep(0.01)
    until = time.monotonic() + 20
    while not (tmp_path / "plans" / f"{job.id}.json").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    planner.stop()

    again = Planner(tmp_path / "plans").find(job.id)

    assert again is not None
    assert again.public() == job.public()
    full = Planner(None)
    full.stop()  # nothing is taken off the queue any more
    for number in range(MOST_WAITING):
        full.submit("what-if", {"a": number}, lambda job, report: {})
    with pytest.raises(Unavailable, match="plans wait already"):
        full.submit("what-if", {"a": "one more"}, lambda job, report: {})
