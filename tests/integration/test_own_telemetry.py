"""What pdscope says of itself and of what it received, and what it never keeps."""

import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx
import pytest

from analyzer.assemble.assembler import LATE_AFTER_S
from collector.receive.grpc_listener import TRACE_SERVICE
from tests.integration.running import Server, bodies, send, serving
from tests.paths import CAPTURES
from tests.receive.bodies import body

SECRET = "the-patient-has-measles"
CAPTURE = CAPTURES / "dynamo-1.6.1/kv-transfer-1GBs-sync"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "data") as running:
        yield running


def _until(seconds: float) -> Iterator[None]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.2)


def _refused(server: Server, export: bytes) -> None:
    with grpc.insecure_channel(server.otlp_grpc) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
        with pytest.raises(grpc.RpcError):
            call(export, timeout=10)


def test_metrics_count_what_was_received_refused_and_stored(server: Server) -> None:
    sent = send(server, bodies(CAPTURE / "otlp_traces.bin.gz"))
    _refused(server, b"\xff garbage")
    late = httpx.post(
        f"{server.otlp_http}/v1/traces",
        content=body("of the year 1970", 1, lambda span: setattr(span, "start_time_unix_nano", 5)),
        headers={"content-type": "application/x-protobuf"},
    )
    assert late.status_code == 200
    server.settle()
    assert server.metric('pdscope_received_spans_total{transport="grpc"}') == sent
    assert server.metric('pdscope_refused_exports_total{reason="malformed",transport="grpc"}') == 1
    assert server.metric('pdscope_refused_spans_total{reason="bad_start"}') == 1
    assert server.metric("pdscope_insert_seconds_count") > 0
    assert server.metric('pdscope_store_bytes{table="spans"}') > 0
    ingest = server.get("/telemetry")["ingest"]
    assert ingest["spans_refused"]["bad_start"] == 1
    assert "Traceback" not in server.log.read_text()


def test_own_spans_are_stored_under_its_own_name_and_are_no_requests(server: Server) -> None:
    for _ in _until(60):
        send(server, [body("nobody's request") for _ in range(64)])
        if server.metric('pdscope_received_spans_total{transport="self"}'):
            break
    server.settle()
    assert "pdscope" in {worker["service"] for worker in server.get("/telemetry")["workers"]}
    assert server.requests() == []


def test_prompt_text_reaches_neither_store_nor_log(server: Server) -> None:
    def add_text(span: object) -> None:
        for key in ("gen_ai.prompt", "gen_ai.completion.0.content", "input.value"):
            attribute = span.attributes.add()  # type: ignore[attr-defined]
            attribute.key = key
            attribute.value.string_value = SECRET
        event = span.events.add(name="gen_ai.user.message")  # type: ignore[attr-defined]
        attribute = event.attributes.add()
        attribute.key = "content"
        attribute.value.string_value = SECRET

    export = body("with text", 1, add_text)
    send(server, [export])
    _refused(server, export + b"\xff" + SECRET.encode())
    server.settle()
    assert server.get("/telemetry")["ingest"]["dropped"]["private_attributes"] >= 3
    assert SECRET not in server.log.read_text()
    for _ in _until(60):
        holding = [path for path in server.data.rglob("*") if path.is_file() and _holds(path)]
        if not holding:
            break
    assert holding == []


def _holds(path: Path) -> bool:
    try:
        return SECRET.encode() in path.read_bytes()
    except FileNotFoundError:
        return False


def test_late_spans_make_a_newer_version_of_the_same_request(server: Server) -> None:
    send(server, bodies(CAPTURE / "otlp_traces.bin.gz"))
    server.settle()
    before = {request["key"]: request for request in server.requests()}
    assert len(before) == 20
    time.sleep(LATE_AFTER_S + 1)
    trace = (CAPTURE / "reqtrace.jsonl.gz").read_bytes()
    assert httpx.post(f"{server.api}/api/v1/import", content=trace).json()["spans"] == 20
    server.settle()
    after = {request["key"]: request for request in server.requests()}
    assert after.keys() == before.keys()
    for key, request in after.items():
        assert (request["ttft"], request["outcome"]) == (before[key]["ttft"], before[key]["outcome"])
        assert server.get(f"/requests/{key}")["late_spans"] == 1
    (system,) = server.get("/telemetry")["systems"]
    assert (system["with_late_spans"], system["late_spans"]) == (20, 20)
