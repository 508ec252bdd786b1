"""Receipts of observed traffic: verified by who has no store, and rejected when anything is changed."""

import copy
import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from analyzer.plan.deployment import Deployment
from analyzer.plan.findings import Findings
from analyzer.plan.layout import parse_layout
from analyzer.plan.observed_plan import Asked, fit, plan_workload
from analyzer.plan.outcome import Objective, Window
from analyzer.plan.plain_loop import Row
from analyzer.plan.receipt import Source, digest
from analyzer.plan.requests_file import requests_file
from analyzer.plan.simulate import simulate
from analyzer.plan.trace_files import read_trace
from analyzer.plan.verify import verify
from analyzer.plan.verify_requests import MAX_BYTES
from analyzer.plan.whatif import Grid
from analyzer.plan.workload import Synthetic
from tests.plan.reference import rows
from tests.plan.served import observed

# slow steps: fewer of them to simulate again, one by one
FACTS = Deployment(transfer_overhead_s=0.002, step_overhead_s=0.03)
KINDS = ["stored", "trace"]


@dataclass(frozen=True)
class Made:
    """A receipt, and what its reader has."""

    receipt: dict[str, Any]
    matrix: str
    requests: bytes | None
    traces: dict[str, list[Row]]

    def verified(self, change: Callable[[dict[str, Any]], None] = lambda r: None) -> Findings:
        """What is found after a change by someone who can seal the receipt again."""
        receipt = copy.deepcopy(self.receipt)
        change(receipt)
        receipt["digest"] = digest(receipt)
        return verify(json.dumps(receipt), self.matrix, self.traces, requests=self.requests)


ASKED = Asked(Objective(2.0, 0.06), grid=Grid(3, (512,)), facts=FACTS, by="a test")
WRITTEN = "2026-11-29T00:00:00+00:00"
SERVED = parse_layout("1P+2D")


def from_store(rate: float) -> Made:
    """The what-if on requests that a layout served, as `plan_observed` makes it of what a store tells."""
    settings = FACTS.settings()
    run = simulate(Synthetic(rate, until_s=230).draw(), SERVED, settings)
    seen = observed(run, settings, ASKED.objective)
    carried, fitted = requests_file(seen), fit(seen, ASKED)
    c, source = fitted.calibration, Source.stored("requests of an hour", "an hour", carried)
    result = plan_workload(
        seen.workload, source, c.settings, list(c.inputs), 8,
        ASKED, ASKED.contract(seen.measured), WRITTEN, served=c.served, fitted=fitted,
    )  # fmt: skip
    assert result.receipt is not None
    return Made(*result.receipt, carried.packed(), {})


def from_trace(path: Path) -> Made:
    drawn = rows(Synthetic(9, until_s=230).draw())
    path.write_text("\n".join(
        json.dumps({"timestamp": round(at * 1000), "input_length": prompt, "output_length": output})
        for at, prompt, output, _ in drawn
    ))  # fmt: skip
    workload = read_trace(path)
    source = Source.trace(path.name, path.read_bytes(), True)
    window = Window(workload.span_s / 8, workload.span_s * 7 / 8)
    result = plan_workload(
        workload, source, FACTS.settings(), FACTS.inputs("a test"), 8, ASKED, ASKED.contract(window), WRITTEN,
        served=SERVED,
    )  # fmt: skip
    assert result.receipt is not None
    return Made(*result.receipt, None, {source.fields["sha256"]: rows(workload)})


@pytest.fixture(scope="module")
def stored() -> Made:
    return from_store(6)


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    if request.param == "stored":
        return from_store(9)
    return from_trace(tmp_path_factory.mktemp("trace") / "trace.jsonl")


def test_what_was_written_is_verified_in_full_without_a_store(made: Made) -> None:
    findings = made.verified()

    assert (findings.problems, findings.unchecked) == ([], [])
    assert findings.status == "verified"
    assert "headline" in findings.checked


def of(receipt: dict[str, Any], layout: str) -> dict[str, Any]:
    """The scenario of a layout under the arrivals as they are."""
    return next(s for s in receipt["scenarios"] if s["layout"]["name"] == layout)


def remove_overhead(receipt: dict[str, Any]) -> None:
    receipt["kv"]["transfer_overhead_s"] = 0.0


def remove_overhead_everywhere(receipt: dict[str, Any]) -> None:
    remove_overhead(receipt)
    receipt["inputs"]["transfer_overhead_s"]["value"] = 0.0


def merge_queues(receipt: dict[str, Any]) -> None:
    s = of(receipt, "2P+1D")
    s["queues"] = [{**q, "name": "colocated"} for q in s["queues"] if q["name"] == "prefill"]


def peak_for_effective(receipt: dict[str, Any]) -> None:
    """The declared link reaches 80 % of its peak; of a fitted one only what it reached is known."""
    receipt["kv"]["effective_bytes_per_s"] /= 0.8


def ignore_overload(receipt: dict[str, Any]) -> None:
    s = of(receipt, "1P+2D")
    s["accepted"], s["reasons"] = True, []
    receipt["rejected"] = [item for item in receipt["rejected"] if item["scenario"] != s["id"]]


def call_it_measured(receipt: dict[str, Any]) -> None:
    of(receipt, "2P+1D")["result"]["label"] = "measured"


def one_digit(receipt: dict[str, Any]) -> None:
    of(receipt, "2P+1D")["result"]["ttft95_s"] *= 1.0001


def one_met_more(receipt: dict[str, Any]) -> None:
    of(receipt, "3x512")["result"]["met_count"] += 1


def other_hit_rate(receipt: dict[str, Any]) -> None:
    receipt["workloads"][0]["uncached_tokens_per_s"] *= 0.9


def another_label(receipt: dict[str, Any]) -> None:
    receipt["workloads"][0]["label"] = "supplied"


def lost_worker_is_nothing(receipt: dict[str, Any]) -> None:
    lost = next(d for d in receipt["degraded"] if d["mode"] == "a decode worker lost")
    lost["met_count"] += 1


MUTATIONS = {
    remove_overhead: "transfer overhead was removed",
    remove_overhead_everywhere: "ttft50_s: the receipt says",
    merge_queues: "merged queues hide overloads",
    peak_for_effective: "kv.effective_bytes_per_s: the receipt says",
    ignore_overload: "an overloaded pool was ignored",
    call_it_measured: "is 'measured': a planned figure is modelled",
    one_digit: "ttft95_s: the receipt says",
    one_met_more: "met_count: the receipt says",
    other_hit_rate: "uncached_tokens_per_s: the receipt says",
    another_label: "is labelled supplied but its source is",
    lost_worker_is_nothing: "a decode worker lost: met_count",
}


@pytest.mark.parametrize(("change", "reason"), MUTATIONS.items())
def test_a_changed_receipt_is_rejected(
    made: Made, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    findings = made.verified(change)

    assert findings.status == "rejected"
    assert any(reason in problem for problem in findings.problems), findings.problems


def test_without_the_traffic_nothing_is_claimed(made: Made) -> None:
    findings = verify(json.dumps(made.receipt), made.matrix)

    assert findings.status == "incomplete"
    assert any("not given" in line for line in findings.unchecked)


HEAD = "arrival_s,prompt_tokens,output_tokens,cached_tokens,ttft_s,tpot_s,met\n"
BROKEN = {
    "is not the one the receipt names": HEAD + "0.5,100,10,0,,,\n",
    "is not gzip": b"\x1f\x8b\x08junk",
    "is larger than": gzip.compress(bytes(MAX_BYTES + 1)),
}


@pytest.mark.parametrize(("reason", "content"), BROKEN.items())
def test_a_file_of_requests_that_is_not_the_one_sealed_is_rejected(
    stored: Made, reason: str, content: str | bytes
) -> None:
    other = replace(stored, requests=content if isinstance(content, bytes) else content.encode())

    findings = other.verified()

    assert findings.status == "rejected"
    assert any(reason in problem for problem in findings.problems), findings.problems


def resealed(made: Made, text: str, count: int) -> Findings:
    """Verify with another file of requests, by someone who names its digest and seals the receipt again."""

    def name(receipt: dict[str, Any]) -> None:
        for workload in receipt["workloads"]:
            workload["source"]["requests"] |= {
                "sha256": hashlib.sha256(text.encode()).hexdigest(), "rows": count,
            }  # fmt: skip

    return replace(made, requests=text.encode()).verified(name)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has the header ''"),
        ("arrival_s,prompt_tokens,output_tokens,cached_tokens,tenant\n1,2,3,0,acme\n", "has the header"),
        (HEAD + "1.0,abc,3,0,,,\n", "line 2: is not an arrival and three whole numbers"),
        (HEAD + "1.0,5,3\n", "line 2: is not an arrival and three whole numbers"),
        (HEAD + "nan,5,3,0,,,\n", "line 2: is not an arrival"),
        (HEAD + "-1.0,5,3,0,,,\n", "line 2: is not an arrival"),
        (HEAD + "2.0,5,3,0,,,\n1.0,5,3,0,,,\n", "line 3: arrives before the line above"),
        (HEAD + "1.0,5,3,5,,,\n", "line 2: 5 prompt, 3 output, 5 cached tokens"),
        (HEAD + "1.0,5,0,0,,,\n", "line 2: 5 prompt, 0 output"),
        (HEAD + "1.0,5,3,0,,,\n\n", "line 3: is not an arrival"),
        (HEAD + "1.0,5,3,0,,,yes\n", "line 2: its measured seconds and verdict"),
        (HEAD + "1.0,5,3,0,-1.000000000,,1\n", "line 2: its measured seconds and verdict"),
        (HEAD + "1.0,5,3,0,acme,,1\n", "line 2: its measured seconds and verdict"),
    ],
)
def test_a_file_of_requests_that_holds_anything_else_is_rejected(
    stored: Made, text: str, reason: str
) -> None:
    findings = resealed(stored, text, 1)

    assert findings.status == "rejected"
    assert any(reason in problem for problem in findings.problems), findings.problems


def test_requests_dropped_from_a_resealed_file_are_found(stored: Made) -> None:
    assert stored.requests is not None
    lines = gzip.decompress(stored.requests).decode().splitlines(keepends=True)

    findings = resealed(stored, "".join([lines[0], *lines[2:]]), len(lines) - 2)

    assert findings.status == "rejected"
    assert any("requests_per_s: the receipt says" in problem for problem in findings.problems)


def test_a_count_of_requests_that_is_not_so_is_found(stored: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        for workload in receipt["workloads"]:
            workload["source"]["requests"]["rows"] += 1

    assert any("; the receipt says" in problem for problem in stored.verified(change).problems)


def test_the_file_of_requests_is_small_and_holds_numbers_only(stored: Made) -> None:
    assert stored.requests is not None
    text = gzip.decompress(stored.requests).decode()
    count = stored.receipt["workloads"][0]["requests"]

    assert len(stored.requests) < 40 * count + 200
    assert set(text.split("\n", 1)[1]) <= set("0123456789.e-,\n")


def constant(receipt: dict[str, Any], name: str, factor: float) -> None:
    receipt["inputs"][name]["value"] *= factor


FITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "calibration: the constants give tpot50_s": lambda r: constant(r, "step_weights_s", 2.5),
    "calibration: the constants give ttft50_s": lambda r: constant(r, "step_compute_s_per_token", 0.3),
    "calibration: attainment: the receipt says": lambda r: r["calibration"].update(attainment=0.5),
    "calibration: ttft50_s: the receipt says": lambda r: r["calibration"].update(ttft50_s=0.01),
    "calibration: measured: the receipt says": lambda r: r["calibration"].update(measured=3),
    "calibration.label is 'modelled'": lambda r: r["calibration"].update(label="modelled"),
}


@pytest.mark.parametrize(("reason", "change"), FITS.items())
def test_fitted_constants_are_held_to_what_was_measured(
    stored: Made, reason: str, change: Callable[[dict[str, Any]], None]
) -> None:
    findings = stored.verified(change)

    assert findings.status == "rejected"
    assert any(reason in problem for problem in findings.problems), findings.problems


def test_fitted_constants_without_the_window_they_were_fitted_to_are_not_passed_over(stored: Made) -> None:
    findings = stored.verified(lambda r: r.pop("calibration"))

    assert findings.status == "incomplete"
    assert any("were fitted to requests" in line for line in findings.unchecked)
