"""Every limit refuses, is counted by its reason, and lets the next one through."""

import socket
import time
from collections.abc import Callable, Iterator

import grpc
import httpx
import pytest
from prometheus_client import CollectorRegistry

from collector.rates import SourceRates
from collector.receive import OtlpReceiver, ReceiveSettings
from collector.receive.grpc_listener import TRACE_SERVICE
from collector.store import Store
from tests.receive.bodies import body, unique_name

PROTOBUF = {"content-type": "application/x-protobuf"}


@pytest.fixture
def start(store: Store) -> Iterator[Callable[..., tuple[OtlpReceiver, CollectorRegistry]]]:
    running: list[OtlpReceiver] = []

    def begin(**settings: object) -> tuple[OtlpReceiver, CollectorRegistry]:
        registry = CollectorRegistry()
        receiver = OtlpReceiver(
            store,
            ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", own_span_ratio=0, **settings),  # type: ignore[arg-type]
            registry,
        )
        receiver.start()
        running.append(receiver)
        return receiver, registry

    yield begin
    for receiver in running:
        receiver.stop(grace=1)


Start = Callable[..., tuple[OtlpReceiver, CollectorRegistry]]


def _post(receiver: OtlpReceiver, content: bytes) -> httpx.Response:
    return httpx.post(
        f"http://127.0.0.1:{receiver.http_port}/v1/traces", content=content, headers=PROTOBUF, timeout=10
    )


def _refused(registry: CollectorRegistry, reason: str) -> float:
    labels = {"transport": "http", "reason": reason}
    return registry.get_sample_value("pdscope_refused_exports_total", labels) or 0


def test_more_spans_than_one_export_may_hold(start: Start, stored: Callable[[str], int]) -> None:
    receiver, registry = start(max_items=10)
    name = unique_name()
    refused = _post(receiver, body(name, 11))
    assert refused.status_code == 413
    assert b"otlp_max_items" in refused.content
    assert _post(receiver, body(name, 10)).status_code == 200
    assert stored(name) == 10
    assert _refused(registry, "too_large") == 1


def test_a_source_that_sends_too_fast_is_told_to_come_back(start: Start) -> None:
    data = body(unique_name(), 200)
    receiver, registry = start(source_bytes_per_s=1)
    statuses = [_post(receiver, data).status_code for _ in range(5)]
    assert statuses == [200] + [429] * 4
    assert _refused(registry, "too_fast") == statuses.count(429)


def test_a_bucket_refills_and_sources_do_not_share_one() -> None:
    now = 0.0
    rates = SourceRates(100, clock=lambda: now)
    assert rates.spend("a", 500)
    assert not rates.spend("a", 1)
    assert rates.spend("b", 500)
    now = 1.0
    assert rates.spend("a", 1)
    now = 0.5  # a clock that jumps back gives nothing, and takes nothing
    assert rates.spend("a", 1)


def test_too_much_memory_in_use_is_told_to_come_back(start: Start) -> None:
    receiver, registry = start(max_memory_bytes=1)
    refused = _post(receiver, body(unique_name()))
    assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
    assert _refused(registry, "queue_full") == 1
    assert "memory" in receiver.troubles()[0]
    healthy, _ = start(max_memory_bytes=1 << 40)
    assert _post(healthy, body(unique_name())).status_code == 200
    assert healthy.troubles() == []


def _closed(registry: CollectorRegistry, reason: str) -> float:
    return registry.get_sample_value("pdscope_refused_connections_total", {"reason": reason}) or 0


def _is_closed(connection: socket.socket) -> bool:
    connection.settimeout(5)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_headers_that_never_end_are_cut_off(start: Start) -> None:
    receiver, registry = start(header_timeout=0.5)
    with socket.create_connection(("127.0.0.1", receiver.http_port)) as slow:
        for piece in (b"POST /v1/traces HT", b"TP/1.1\r\nhost: x\r\n", b"a: b\r\n"):
            slow.sendall(piece)
            time.sleep(0.1)
        assert _is_closed(slow)
    assert _closed(registry, "headers_too_slow") == 1


def test_headers_of_a_second_request_that_never_end_are_cut_off_too(start: Start) -> None:
    receiver, registry = start(header_timeout=0.5)
    data = body(unique_name())
    first = (
        b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n"
        b"content-length: %d\r\n\r\n%s" % (len(data), data)
    )
    with socket.create_connection(("127.0.0.1", receiver.http_port)) as slow:
        slow.sendall(first)
        assert slow.recv(4096).startswith(b"HTTP/1.1 200")
        slow.sendall(b"POST /v1/tra")
        assert _is_closed(slow)
    assert _closed(registry, "headers_too_slow") == 1


def test_a_body_that_never_ends_is_answered_and_closed(start: Start) -> None:
    receiver, _ = start(body_timeout=0.5)
    with socket.create_connection(("127.0.0.1", receiver.http_port)) as slow:
        slow.sendall(
            b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n"
            b"content-length: 100\r\n\r\nabc"
        )
        slow.settimeout(5)
        assert slow.recv(4096).startswith(b"HTTP/1.1 408")


def test_connections_beyond_the_limit_are_closed_and_the_others_served(start: Start) -> None:
    receiver, registry = start(max_connections=3)
    held = [socket.create_connection(("127.0.0.1", receiver.http_port)) for _ in range(3)]
    time.sleep(0.2)
    with socket.create_connection(("127.0.0.1", receiver.http_port)) as fourth:
        assert _is_closed(fourth)
    assert _closed(registry, "too_many") == 1
    for connection in held:
        connection.close()
    time.sleep(0.2)
    assert _post(receiver, body(unique_name())).status_code == 200


def test_grpc_connections_beyond_the_limit_are_refused(start: Start) -> None:
    receiver, _ = start(max_connections=2)
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}", options) for _ in range(6)]
    answered = 0
    for channel in channels:
        try:
            channel.unary_unary(f"/{TRACE_SERVICE}/Export")(body(unique_name()), timeout=20)
            answered += 1
        except grpc.RpcError:
            pass
    for channel in channels:
        channel.close()
    assert answered == 2
