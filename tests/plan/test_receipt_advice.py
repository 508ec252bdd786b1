"""What a what-if adds to a receipt: verified by other code, and rejected when changed."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from analyzer.plan.deployment import Deployment
from analyzer.plan.layout import parse_layout
from analyzer.plan.observed_plan import Asked, plan_workload
from analyzer.plan.outcome import Objective, Window
from analyzer.plan.receipt import Source, digest
from analyzer.plan.verify import verify
from analyzer.plan.whatif import Grid
from analyzer.plan.workload import Synthetic

Made = tuple[dict[str, Any], str]
# slow steps: fewer of them to simulate again, one by one
FACTS = Deployment(transfer_overhead_s=0.002, step_overhead_s=0.03)


def make(facts: Deployment = FACTS, **changes: Any) -> Made:
    spec = Synthetic(5, until_s=240)
    asked = Asked(Objective(2.0, 0.06), grid=replace(Grid(2, (512,)), **changes), facts=facts, by="a test")
    result = plan_workload(
        spec.draw(), Source.synthetic(spec), facts.settings(), facts.inputs("a test"), 8, asked,
        asked.contract(Window(30, 210)), "2026-11-29T00:00:00+00:00", served=parse_layout("1P+1D"),
    )  # fmt: skip
    assert result.receipt is not None
    return result.receipt


@pytest.fixture(scope="module")
def made() -> Made:
    return make()


def problems(made: Made, change: Callable[[dict[str, Any]], None]) -> list[str]:
    receipt = copy.deepcopy(made[0])
    change(receipt)
    receipt["digest"] = digest(receipt)
    return verify(json.dumps(receipt), made[1]).problems


def test_all_of_it_is_worked_out_again(made: Made) -> None:
    receipt, matrix = made

    findings = verify(json.dumps(receipt), matrix)

    assert findings.status == "verified"
    assert {"transfer budget", "recommendation"} <= set(findings.checked)
    assert [workload["arrivals"] for workload in receipt["workloads"]] == [1.0, 1.15]
    assert {(item["layout"], item["mode"]) for item in receipt["degraded"]} >= {
        ("2x512", "a worker lost"), ("1P+1D", "a decode worker lost"), ("1P+1D", "the link lost"),
    }  # fmt: skip


def test_a_link_refused_by_the_budget_is_verified_as_refused() -> None:
    receipt, matrix = make(replace(FACTS, nics=1, nic_bytes_per_s=2e9), degraded=False)

    assert verify(json.dumps(receipt), matrix).status == "verified"
    assert receipt["transfer_budget"]["refused"].startswith("transfer budget:")
    split = [s for s in receipt["scenarios"] if s["layout"]["kind"] == "disaggregated"]
    assert not any(s["accepted"] for s in split)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda r: r["transfer_budget"].update(prompt_tokens=10), "transfer_budget: prompt_tokens"),
        (lambda r: r["transfer_budget"].update(transfer_s=1e-6), "transfer_budget: transfer_s"),
        (lambda r: r["transfer_budget"].update(prefill_s=1e-6), "transfer_budget: prefill_s"),
        (lambda r: r["transfer_budget"].update(left=0.5), "transfer_budget: left"),
        (lambda r: r["transfer_budget"].update(bytes_per_s=1e15), "the estimate is not conservative"),
        (lambda r: r["transfer_budget"].update(reserve=0.9999), "the receipt says otherwise"),
        (lambda r: r["recommendation"].update(layout="9x512"), "recommendation: names 9x512"),
        (lambda r: r["recommendation"].update(headroom=0.5), "0.15 was simulated"),
        (
            lambda r: r["recommendation"].update(statement="Just do it."),
            "does not name the layout as modelled",
        ),
        (lambda r: r["recommendation"].update(served="2P+1D"), "lanes do not lead from 2P+1D"),
        (lambda r: r["recommendation"]["lanes"][0].update(change="grows"), "recommendation: prefill grows"),
        (lambda r: r["degraded"][-1].update(met_count=1), "degraded 1P+1D, the link lost: met_count"),
        (lambda r: r["degraded"][0].update(met_count=1), "degraded 2x512, a worker lost: met_count"),
        (lambda r: r["degraded"][-1].update(serves="9x512"), "9x512 is not what is left of it"),
        (lambda r: r["degraded"][-1].update(serves="1P+1D"), "1P+1D is not what is left of it"),
        (lambda r: r["degraded"][-1].update(mode="a cable lost"), "nothing is lost by that name"),
        (lambda r: r["degraded"][-1].update(layout="7P+1D"), "no such layout was tried"),
        (lambda r: r["workloads"][1].update(arrivals=1.1), "requests_per_s: the receipt says"),
    ],
)
def test_a_change_is_found(made: Made, change: Callable[[dict[str, Any]], None], reason: str) -> None:
    found = problems(made, change)

    assert any(reason in problem for problem in found), found
