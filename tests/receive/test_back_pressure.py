"""The store failing or slow: clients are told to come back, nothing acknowledged is lost, and it recovers."""

import threading
from collections.abc import Callable, Iterator, Sequence

import grpc
import httpx
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.trace import NoOpTracer
from prometheus_client import CollectorRegistry

from collector.errors import BadBody, StoreError, Unavailable
from collector.receive import OtlpReceiver, ReceiveSettings
from collector.receive.batcher import Batcher
from collector.receive.export import Export, Kind, StoreKeeper
from collector.receive.grpc_listener import TRACE_SERVICE
from collector.receive.metrics import ReceiveMetrics
from collector.receive.own_spans import SampledTracer
from collector.store import InsertResult, Store
from tests.receive.bodies import body, unique_name

POISON = b"\x08\x01"
"""Field 1 as a number: protobuf passes over it, ClickHouse refuses the whole message."""


class _Gate:
    """The real store behind a gate: inserts wait while it is shut, and fail while it is broken."""

    def __init__(self, store: Store):
        self._store = store
        self.open = threading.Event()
        self.open.set()
        self.entered = threading.Event()
        self.broken: Exception | None = None
        self.batches: list[int] = []

    def insert_traces(self, bodies: Sequence[bytes]) -> InsertResult:
        self.entered.set()
        assert self.open.wait(timeout=30)
        self.batches.append(len(bodies))
        if self.broken:
            raise self.broken
        return self._store.insert_traces(bodies)

    def insert_metrics(self, bodies: Sequence[bytes]) -> InsertResult:
        return self._store.insert_metrics(bodies)


@pytest.fixture
def gate(store: Store) -> _Gate:
    return _Gate(store)


Call = Callable[[bytes], "grpc.Future[bytes]"]


@pytest.fixture
def small(gate: _Gate) -> Iterator[OtlpReceiver]:
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", max_queue_bytes=4000, retry_after=1.5)
    running = OtlpReceiver(gate, settings, CollectorRegistry())
    running.start()
    yield running
    gate.open.set()
    running.stop(grace=1)


@pytest.fixture
def call(small: OtlpReceiver) -> Iterator[Call]:
    with grpc.insecure_channel(f"127.0.0.1:{small.grpc_port}") as channel:
        export = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
        yield lambda data: export.future(data, timeout=30)


def _retry_seconds(status: Status) -> float:
    info = RetryInfo()
    assert status.details[0].Unpack(info)
    return info.retry_delay.seconds + info.retry_delay.nanos / 1e9


@pytest.mark.parametrize("failure", [StoreError("disk full at /data"), OSError(28, "No space left")])
def test_a_failing_store_asks_for_a_retry_that_then_succeeds(
    failure: Exception, small: OtlpReceiver, gate: _Gate, call: Call, stored: Callable[[str], int]
) -> None:
    name = unique_name()
    url = f"http://127.0.0.1:{small.http_port}/v1/traces"
    headers = {"content-type": "application/x-protobuf"}

    gate.broken = failure
    refused = call(body(name))
    assert refused.code() == grpc.StatusCode.UNAVAILABLE
    assert (
        _retry_seconds(Status.FromString(dict(refused.trailing_metadata())["grpc-status-details-bin"])) == 1.5
    )
    assert "/data" not in refused.details()
    answer = httpx.post(url, content=body(name), headers=headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert Status.FromString(answer.content).code == grpc.StatusCode.UNAVAILABLE.value[0]
    assert stored(name) == 0

    gate.broken = None
    call(body(name)).result()
    assert httpx.post(url, content=body(name), headers=headers).status_code == 200
    assert stored(name) == 2


def test_a_full_queue_is_resource_exhausted_and_drains(
    small: OtlpReceiver, gate: _Gate, call: Call, stored: Callable[[str], int]
) -> None:
    name = unique_name()
    gate.open.clear()
    gate.entered.clear()
    accepted = [call(body(name))]
    assert gate.entered.wait(timeout=5)
    accepted.append(call(body(name, 30)))
    url = f"http://127.0.0.1:{small.http_port}/v1/traces"

    refused = call(body(name, 30))
    assert refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (
        _retry_seconds(Status.FromString(dict(refused.trailing_metadata())["grpc-status-details-bin"])) == 1.5
    )
    answer = httpx.post(url, content=body(name, 30), headers={"content-type": "application/x-protobuf"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")

    gate.open.set()
    for export in accepted:
        export.result()
    assert stored(name) == 31


def test_exports_that_arrive_together_share_an_insert(
    gate: _Gate, call: Call, stored: Callable[[str], int]
) -> None:
    name = unique_name()
    for export in [call(body(name)) for _ in range(20)]:
        export.result()
    assert sum(gate.batches) == 20
    assert len(gate.batches) <= 4
    assert stored(name) == 20


def test_a_body_only_the_store_finds_bad_fails_alone(
    gate: _Gate, call: Call, stored: Callable[[str], int]
) -> None:
    name = unique_name()
    gate.open.clear()
    exports = [call(body(name) + (POISON if index == 7 else b"")) for index in range(20)]
    gate.open.set()

    assert exports[7].code() == grpc.StatusCode.INVALID_ARGUMENT
    for index, export in enumerate(exports):
        if index != 7:
            export.result()
    assert stored(name) == 19


@pytest.fixture
def batcher(gate: _Gate) -> Iterator[Batcher]:
    running = Batcher(
        StoreKeeper(gate),
        ReceiveSettings(),
        ReceiveMetrics(CollectorRegistry()),
        SampledTracer(NoOpTracer(), 1.0),
    )
    yield running
    gate.open.set()
    running.close()


def test_closing_stores_what_waits_and_refuses_the_rest(
    gate: _Gate, batcher: Batcher, stored: Callable[[str], int]
) -> None:
    name = unique_name()
    gate.open.clear()
    waiting = [batcher.submit(Export(Kind.TRACES, body(name), 1), "grpc") for _ in range(5)]
    closing = threading.Thread(target=batcher.close)
    closing.start()
    gate.open.set()
    closing.join(timeout=30)

    assert [future.result(timeout=0) for future in waiting] == [{}] * 5
    assert stored(name) == 5
    with pytest.raises(Unavailable, match="stopping"):
        batcher.submit(Export(Kind.TRACES, body(name), 1), "grpc")


def test_a_body_whose_client_left_while_it_waited_is_not_stored(
    gate: _Gate, batcher: Batcher, stored: Callable[[str], int]
) -> None:
    name, gone = unique_name(), unique_name()
    gate.open.clear()
    first = batcher.submit(Export(Kind.TRACES, body(name), 1), "grpc")
    assert gate.entered.wait(timeout=5)
    left = batcher.submit(Export(Kind.TRACES, body(gone), 1), "grpc")
    last = batcher.submit(Export(Kind.TRACES, body(name), 1), "grpc")
    assert left.cancel()
    gate.open.set()

    assert first.result(timeout=30) == last.result(timeout=30) == {}
    assert (stored(name), stored(gone)) == (2, 0)


def test_every_body_bad_is_told_so_one_by_one(gate: _Gate, batcher: Batcher) -> None:
    futures = [batcher.submit(Export(Kind.TRACES, body("never") + POISON, 1), "grpc") for _ in range(3)]
    for future in futures:
        assert isinstance(future.exception(timeout=30), BadBody)
