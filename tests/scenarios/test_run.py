"""The judge on trial: it accepts a server that tells the truth, and none that guesses or stays silent."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from . import run
from .processes import Stage
from .scenario import Scenario, scenario
from .score import Judged, bars, judge, report
from .test_telemetry import plain

Answer = Callable[[Scenario], dict[str, Any]]


class StandIn:
    """Receives OTLP, counts requests by model, and answers for a model's scenario as it is told to."""

    def __init__(self) -> None:
        self.scenarios: dict[str, Scenario] = {}
        self.seen: dict[str, set[str]] = {}
        self.queries: list[dict[str, str]] = []
        self.answer: Answer = oracle
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = gzip.decompress(self.rfile.read(int(self.headers["content-length"])))
                if self.path == "/v1/traces":
                    stand_in.receive(body)
                self.reply(b"", "application/x-protobuf")

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                asked = {key: values[0] for key, values in parse_qs(url.query).items()}
                stand_in.queries.append(asked)
                document = stand_in.document(url.path.removeprefix("/api/v1/"), asked["model"])
                self.reply(json.dumps(document).encode(), "application/json")

            def reply(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def receive(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for span in resource.scope_spans[0].spans:
                values = plain(span.attributes)
                if span.name == "pd.request" and values["pd.request.id"].startswith("r"):
                    self.seen.setdefault(values["gen_ai.request.model"], set()).add(values["pd.request.id"])

    def document(self, path: str, model: str) -> dict[str, Any]:
        if path == "diagnosis":
            return self.diagnose(model)
        salt, truth = model.removeprefix("sim-"), self.scenarios[model].truth
        if path == "requests":
            rows = [
                {"key": v.index, "request_id": f"r{v.index}-{salt}", "cause": v.cause} for v in truth.missed
            ]
            return {"requests": rows[:5]}
        (verdict,) = (v for v in truth.missed if str(v.index) == path.removeprefix("requests/"))
        met = "would have met" if any(verdict.without.values()) else "would still have missed"
        return {"verdict": {"counterfactual": f"Without that it {met} the objective."}}

    def diagnose(self, model: str) -> dict[str, Any]:
        truth = self.scenarios[model].truth
        total = {"total": len(self.seen[model]), "missed": len(truth.missed)}
        return {"settled": True, "requests": total} | self.answer(self.scenarios[model])


def oracle(shown: Scenario) -> dict[str, Any]:
    cause = shown.truth.dominant
    would = shown.truth.would_have_met(cause)
    causes = [{"cause": cause, "would_have_met_without_it": would}] if cause != "none" else []
    return {"dominant_cause": cause, "confidence": 0.95, "causes": causes}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    server = StandIn()
    real = run._send

    def send(*arguments: Any) -> tuple[Stage, str]:
        stage, removed = real(*arguments)
        server.scenarios[stage.model] = stage.scenario
        return stage, removed

    monkeypatch.setattr(run, "_send", send)
    thread = threading.Thread(target=server.http.serve_forever, daemon=True)
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


def played(server: StandIn, *more: str) -> int:
    return run.main(["--otlp", server.url, "--api", server.url, "--count", "10", "--seed", "3", *more])


def test_a_server_that_tells_the_truth_passes(stand_in: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    assert played(stand_in, "--json", "--ablate") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["report"]["scenarios"] == 10
    assert document["report"]["accuracy"]["one"] == document["report"]["accuracy"]["two"] == 1.0
    assert document["report"]["counterfactual_agreement"] == 1.0
    assert len(document["ablated"]) == 10
    assert all(bar["passed"] for bar in document["bars"])
    assert set(stand_in.queries[0]) == {"from", "to", "ttft", "tpot", "target", "model"}


def test_requests_are_judged_one_by_one_where_asked(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        played(stand_in, "--json", "--requests", "5", "--only", "slow_pairs") == 1
    )  # no two faults among them
    document = json.loads(capsys.readouterr().out)
    assert document["report"]["request_cause_accuracy"] == 1.0
    assert document["report"]["request_counterfactual_agreement"] == 1.0
    assert all(row["requests_judged"] == row["counterfactuals_judged"] == 5 for row in document["scenarios"])


def test_a_server_that_always_blames_the_same_fails(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    blame = "pool_imbalance.prefill_starved"
    stand_in.answer = lambda shown: {"dominant_cause": blame, "confidence": 0.9, "causes": []}
    assert played(stand_in, "--json") == 1
    result = json.loads(capsys.readouterr().out)["report"]
    assert result["healthy_blamed"] == 1.0
    assert result["wrong_and_sure"] > 0.5


def test_a_server_that_always_abstains_is_never_wrong_and_fails(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answer = lambda shown: {"dominant_cause": "insufficient_evidence", "confidence": 0.9}
    assert played(stand_in) == 1
    out = capsys.readouterr().out
    assert "FAIL  dominant cause right, one fault" in out
    assert "PASS  healthy blamed" in out


def test_a_server_that_is_not_there_is_an_error_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--otlp", "http://127.0.0.1:9", "--api", "http://127.0.0.1:9", "--count", "1"]) == 2
    assert "cannot send to http://127.0.0.1:9/v1/traces" in capsys.readouterr().err


def said(shown: Scenario, cause: str, confidence: float) -> Judged:
    return judge(shown, {"dominant_cause": cause, "confidence": confidence, "settled": True})


def test_calibration_counts_answers_by_confidence_and_leaves_abstentions_out() -> None:
    shown = scenario(1, 1)
    right = shown.truth.dominant
    answers = [said(shown, right, 0.95), said(shown, right, 0.92), said(shown, "router", 0.91)]
    result = report([*answers, said(shown, "insufficient_evidence", 0.9), said(shown, "router", 0.35)], [])
    assert [(row["from"], row["answers"]) for row in result.calibration] == [(0.3, 1), (0.9, 3)]
    assert result.calibration[1]["right"] == pytest.approx(2 / 3, abs=1e-3)
    assert result.wrong_and_sure == pytest.approx(1 / 5)
    assert result.confusion[right] == {right: 2, "router": 2, "insufficient_evidence": 1}


def test_what_was_not_measured_does_not_pass() -> None:
    empty = report([], [])
    assert not any(bar.passed for bar in bars(empty, ablated=True))
