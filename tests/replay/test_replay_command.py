"""`pdscope replay` through `pdscope tap` against a real streaming endpoint, with a pdscope behind."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from analyzer.plan.benchmark import parse_benchmark, schema_text
from analyzer.plan.errors import BadReceipt
from tests.integration.running import ALL, COMMAND, Server, environment, pdscope, serving
from tests.paths import PROJECT, SHARED

MOONCAKE = SHARED / "data" / "mooncake_conversation_trace.jsonl"
AZURE = SHARED / "data" / "AzureLLMInferenceTrace_conv.csv"
SCHEMA = PROJECT / "analyzer" / "plan" / "benchmark_schema.json"
pytestmark = pytest.mark.timeout(600)


@contextmanager
def program(*command: str) -> Iterator["subprocess.Popen[str]"]:
    """A program that is stopped at the end."""
    process = subprocess.Popen(
        command, cwd=PROJECT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    finally:
        process.kill()
        process.communicate()


@dataclass(frozen=True)
class Stand:
    """A pdscope, and a tap in front of an endpoint that reports to it."""

    server: Server
    tap: str


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    data = tmp_path_factory.mktemp("replay") / "data"
    with serving(data) as server, program(sys.executable, "-m", "tests.replay.endpoint") as endpoint:
        assert endpoint.stdout
        upstream = endpoint.stdout.readline().strip()
        tap = (*COMMAND, "tap", "--upstream", upstream, "--listen", "127.0.0.1:0", "--cohort", "replayed")
        with program(*tap, "--otlp", f"http://{server.otlp_grpc}") as running:
            assert running.stderr
            said = running.stderr.readline()
            yield Stand(server, "http://" + said.partition("http://")[2].split()[0])


def replay(stand: Stand, *options: str | Path) -> tuple[int, dict[str, Any]]:
    ran = pdscope("replay", "--target", stand.tap, "--model", "m", "--json", *options)
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


def short_trace(directory: Path, rows: int = 12) -> Path:
    """The first requests of the Mooncake trace, with shorter prompts and outputs, four a second."""
    path = directory / "short.jsonl"
    lines = [json.loads(line) for line in MOONCAKE.read_text().splitlines()[:rows]]
    for number, line in enumerate(lines):
        line |= {"timestamp": number * 250, "input_length": 600 + number, "output_length": 5}
        line["hash_ids"] = line["hash_ids"][:2]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_trace_is_replayed_through_the_tap_and_measured(stand: Stand, tmp_path: Path) -> None:
    receipt = tmp_path / "bench.json"

    code, made = replay(stand, "--trace", short_trace(tmp_path), "--receipt", receipt, "--layout", "2P+2D")

    found = made["benchmark"]
    assert code == 0
    assert (found["label"], found["complete"]) == ("measured", True)
    assert found["figures"]["answered"] == 12
    assert found["lengths"]["told_mean"] == pytest.approx(found["lengths"]["asked_mean"], rel=0.01)
    assert found["target"]["layout"] == "2P+2D"
    assert parse_benchmark(receipt.read_text(), "bench.json").figures.sent == 12
    jsonschema_rs.validate(json.loads(SCHEMA.read_text()), found)
    requests = _stored(stand, 12)
    assert {item["output_tokens"] for item in requests} == {5}
    assert {item["cohort"] for item in requests} == {"replayed"}


def _stored(stand: Stand, count: int) -> list[dict[str, Any]]:
    """Requests that the tap reported, less the probes of one token."""
    until = time.monotonic() + 240
    while True:
        listed = stand.server.get("/requests", **ALL, limit=1000)["requests"]
        found = [item for item in listed if (item["output_tokens"] or 0) > 1]
        if len(found) >= count:
            return found
        assert time.monotonic() < until, f"{len(found)} of {count} requests were stored"
        time.sleep(0.5)


def test_a_store_is_replayed_with_its_own_arrivals(stand: Stand, tmp_path: Path) -> None:
    replay(stand, "--trace", short_trace(tmp_path))
    _stored(stand, 12)

    code, made = replay(
        stand, "--store", "--from", "0", "--to", "4000000000", "--api", stand.server.api, "--requests", "6",
        "--store-cohort", "replayed", "--speed", "1000",
    )  # fmt: skip

    assert code == 0
    assert made["benchmark"]["trace"]["kind"] == "store"
    assert made["benchmark"]["trace"]["sha256"] is None
    assert made["benchmark"]["figures"]["answered"] == 6


def test_ctrl_c_leaves_a_receipt_that_says_it_is_partial(stand: Stand, tmp_path: Path) -> None:
    receipt = tmp_path / "partial.json"
    command = (*COMMAND, "replay", "--target", stand.tap, "--model", "m", "--trace", str(AZURE))
    process = subprocess.Popen(
        [*command, "--requests", "500", "--receipt", str(receipt)],
        cwd=PROJECT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr
        assert "500 requests over" in process.stderr.readline()
        time.sleep(12)
        process.send_signal(signal.SIGINT)
        shown, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    made = json.loads(receipt.read_text())
    assert process.returncode == 130
    assert shown.startswith("partial: stopped by the user")
    assert made["complete"] is False
    assert made["figures"]["sent"] < 500


def planned(directory: Path, trace: Path) -> Path:
    path = directory / "plan.json"
    ran = pdscope("plan", "sweep", "--workers", "2", "--chunk", "512", "--trace", trace, "--receipt", path)
    assert path.exists(), ran.stderr
    return path


def long_trace(directory: Path) -> Path:
    """Sixty requests in four minutes: enough for a plan to have percentiles."""
    path = directory / "long.jsonl"
    rows = [
        {"timestamp": 4000 * k, "input_length": 700 + k, "output_length": 4, "hash_ids": [0, k]}
        for k in range(60)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_plan_is_laid_beside_line_by_line(stand: Stand, tmp_path: Path) -> None:
    trace = long_trace(tmp_path)
    plan = planned(tmp_path, trace)

    code, made = replay(stand, "--trace", trace, "--layout", "1P+1D", "--diff", plan, "--speed", "40")

    assert code == 0
    found = made["diff"]
    assert (found["layout"], found["promised_label"], found["measured_label"]) == (
        "1P+1D",
        "modelled",
        "measured",
    )
    lines = {line["name"]: line for line in found["lines"]}
    ttft = lines["ttft50"]
    assert ttft["error"] == pytest.approx(ttft["measured"] / ttft["promised"] - 1)
    assert lines["mean_prompt"]["measured"] == pytest.approx(lines["mean_prompt"]["promised"], rel=0.02)
    assert any("40 times as fast" in caveat for caveat in found["unlike"])
    assert not any("other traffic" in caveat for caveat in found["unlike"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--trace", "none.csv"), "none.csv: cannot be read"),
        ((), "--trace FILE or --store: give one of them"),
        (("--trace", AZURE, "--lengths", "guess"), "neither words nor ids"),
        (("--trace", AZURE, "--lengths", "ids"), "a chat endpoint takes no token ids"),
        (("--trace", AZURE, "--first", "99999"), "no request from number 99999 on"),
        (("--trace", AZURE, "--diff", "none.json"), "--diff none.json: cannot be read"),
    ],
)
def test_what_cannot_be_replayed_is_one_line(
    stand: Stand, options: tuple[str | Path, ...], words: str
) -> None:
    ran = pdscope("replay", "--target", stand.tap, "--model", "m", *options)

    assert ran.returncode == 2
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_endpoint_that_is_not_there_is_named() -> None:
    ran = pdscope("replay", "--target", "http://127.0.0.1:9", "--model", "m", "--trace", AZURE)

    assert ran.returncode == 2
    assert "http://127.0.0.1:9/v1/chat/completions: a probe of 64 tokens ended as error" in ran.stderr


def test_the_published_schema_is_the_one_the_code_has() -> None:
    assert SCHEMA.read_text() == schema_text()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r.update(label="modelled"), "label: "),
        (lambda r: r["figures"].update(ttft50_s=0.001), "digest: the receipt was changed"),
        (lambda r: r.update(complete=False), "digest: the receipt was changed"),
        (lambda r: r.pop("client"), "client: Field required"),
        (lambda r: r.update(more=1), "more: "),
    ],
)
def test_a_changed_benchmark_is_refused(stand: Stand, tmp_path: Path, change: Any, words: str) -> None:
    _, made = replay(stand, "--trace", short_trace(tmp_path, rows=2), "--speed", "1000")
    receipt = made["benchmark"]
    change(receipt)

    with pytest.raises(BadReceipt, match=words):
        parse_benchmark(json.dumps(receipt), "bench.json")
