"""Anything may be sent to the listeners: an answer always comes, never a 500, and memory stays bounded.

PDSCOPE_FUZZ_INPUTS sets how many inputs each test tries; the default run tries 200 over HTTP, 100 over gRPC.
"""

import gzip
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from collector.journal import Journal, JournalLimits
from collector.receive import OtlpReceiver, ReceiveSettings
from collector.receive.signal import Signal
from collector.store import Store
from tests.receive.bodies import body
from tests.receive.test_metrics_and_logs import TRACE_RECORD, expired, logs
from tests.signals.otlp import body as metrics_body
from tests.signals.otlp import buckets, counter, gauge, histogram, number

INPUTS = int(os.environ.get("PDSCOPE_FUZZ_INPUTS") or 200)
MEBIBYTE = 1 << 20

SEEDS = {
    Signal.TRACES: body("fuzzed", 3),
    Signal.METRICS: metrics_body(
        "w-fuzz",
        gauge("vllm:g", number(1, 2)),
        counter("vllm:c_total", number(1, 2, start=0)),
        histogram("vllm:h", buckets(1, [1, 2], [1, 0, 3], total=4)),
    ),
    Signal.LOGS: logs(expired("cmpl-f-0-1234abcd"), TRACE_RECORD, "noise"),
}


@st.composite
def sent(draw: st.DrawFn) -> tuple[Signal, bytes]:
    """A body: noise, or a good one with bytes changed, cut out, doubled or put in."""
    signal = draw(st.sampled_from(list(Signal)))
    if draw(st.integers(0, 4)) == 0:
        return signal, draw(st.binary(max_size=2000))
    data = bytearray(SEEDS[draw(st.sampled_from([signal, signal, signal, *Signal]))])
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        change = draw(st.sampled_from(("set", "cut", "double", "put")))
        if change == "set" and at < len(data):
            data[at] = draw(st.integers(0, 255))
        elif change == "cut":
            del data[at : at + draw(st.integers(1, 50))]
        elif change == "double":
            data[at:at] = data[at : at + draw(st.integers(1, 200))]
        else:
            data[at:at] = draw(st.binary(max_size=20))
    return signal, bytes(data)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtlpReceiver]:
    directory = tmp_path_factory.mktemp("fuzz")
    store = Store.open(directory)
    journal = Journal(directory / "journal", JournalLimits(min_free_bytes=0))
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", own_span_ratio=0, max_body_bytes=MEBIBYTE)
    running = OtlpReceiver(store, settings, CollectorRegistry(), journal)
    running.start()
    yield running
    running.stop(grace=20)
    # Whatever was acknowledged was stored, or set aside by name: nothing waits, nothing blocks.
    assert journal.backlog_bytes == 0
    journal.close()
    store.close()


ENCODINGS = st.sampled_from((*["plain"] * 6, "gzip", "gzip", "not gzip", "bomb"))
TYPES = st.sampled_from(
    (*["application/x-protobuf"] * 8, "application/json", "application/json", "text/plain", "", "a/b; c")
)


def test_http_always_answers(receiver: OtlpReceiver, capsys: pytest.CaptureFixture[str]) -> None:
    answers: Counter[int] = Counter()
    before = _resident()
    with httpx.Client(base_url=f"http://127.0.0.1:{receiver.http_port}", timeout=20) as client:

        @given(sent(), ENCODINGS, TYPES)
        @settings(max_examples=INPUTS, deadline=None, suppress_health_check=list(HealthCheck))
        def tried(request: tuple[Signal, bytes], encoding: str, content_type: str) -> None:
            signal, content = request
            headers = {"content-type": content_type}
            if encoding != "plain":
                headers["content-encoding"] = "gzip"
            if encoding == "gzip":
                content = gzip.compress(content)
            elif encoding == "bomb":
                content = gzip.compress(bytes(8 * MEBIBYTE))
            answer = client.post(signal.path, content=content, headers=headers)
            answers[answer.status_code] += 1
            assert answer.status_code in (200, 400, 413, 415)

        tried()
    grown = (_resident() - before) / MEBIBYTE
    with capsys.disabled():
        print(f"\nHTTP: {sum(answers.values())} inputs, answers {dict(answers)}, memory {grown:+.0f} MiB")
    assert grown < 400
    assert {200, 400} <= answers.keys()


def test_grpc_always_answers(receiver: OtlpReceiver, capsys: pytest.CaptureFixture[str]) -> None:
    answers: Counter[str] = Counter()
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        calls = {signal: channel.unary_unary(f"/{signal.service}/Export") for signal in Signal}

        @given(sent())
        @settings(max_examples=INPUTS // 2, deadline=None, suppress_health_check=list(HealthCheck))
        def tried(request: tuple[Signal, bytes]) -> None:
            signal, content = request
            try:
                calls[signal](content, timeout=20)
                answers["OK"] += 1
            except grpc.RpcError as error:
                answers[error.code().name] += 1

        tried()
    with capsys.disabled():
        print(f"\ngRPC: {sum(answers.values())} inputs, answers {dict(answers)}")
    assert answers.keys() == {"OK", "INVALID_ARGUMENT"}


def test_it_still_works_afterwards(receiver: OtlpReceiver) -> None:
    url = f"http://127.0.0.1:{receiver.http_port}/v1/traces"
    headers = {"content-type": "application/x-protobuf"}
    assert httpx.post(url, content=body("after"), headers=headers).status_code == 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "resourceSpans",
                    "scopeSpans",
                    "spans",
                    "traceId",
                    "spanId",
                    "links",
                    "resourceMetrics",
                    "scopeMetrics",
                    "metrics",
                    "gauge",
                    "dataPoints",
                    "exemplars",
                    "resourceLogs",
                    "scopeLogs",
                    "logRecords",
                    "body",
                    "attributes",
                    "key",
                    "value",
                    "stringValue",
                    "kvlistValue",
                    "values",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=30,
)


def test_json_of_any_shape_is_answered(receiver: OtlpReceiver, capsys: pytest.CaptureFixture[str]) -> None:
    answers: Counter[int] = Counter()
    with httpx.Client(base_url=f"http://127.0.0.1:{receiver.http_port}", timeout=20) as client:

        @given(st.sampled_from(list(Signal)), JSON)
        @settings(max_examples=INPUTS, deadline=None, suppress_health_check=list(HealthCheck))
        def tried(signal: Signal, document: object) -> None:
            import json

            answer = client.post(
                signal.path,
                content=json.dumps(document).encode(),
                headers={"content-type": "application/json"},
            )
            answers[answer.status_code] += 1
            assert answer.status_code in (200, 400)

        tried()
    with capsys.disabled():
        print(f"\nJSON: {sum(answers.values())} inputs, answers {dict(answers)}")
