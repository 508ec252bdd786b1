"""Starting, stopping, concurrency, and pdscope's own spans."""

import socket
import threading
from collections import Counter
from collections.abc import Callable

import grpc
import httpx
import pytest
from prometheus_client import CollectorRegistry

from collector.errors import ConfigError
from collector.receive import OtlpReceiver, ReceiveSettings
from collector.receive.grpc_listener import TRACE_SERVICE
from collector.store import Store
from tests.receive.bodies import body, unique_name

Stored = Callable[[str], int]


def _export(port: int, data: bytes) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        channel.unary_unary(f"/{TRACE_SERVICE}/Export")(data, timeout=30)


def test_many_clients_on_both_transports_are_all_stored_once(
    receiver: OtlpReceiver, traces_url: str, stored: Stored
) -> None:
    name = unique_name()
    failures: list[BaseException] = []

    def over_grpc() -> None:
        with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
            call = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
            for _ in range(10):
                call(body(name, 3), timeout=60)

    def over_http() -> None:
        with httpx.Client(headers={"content-type": "application/x-protobuf"}, timeout=60) as client:
            for _ in range(10):
                client.post(traces_url, content=body(name, 3)).raise_for_status()

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=guarded, args=(work,)) for work in (over_grpc, over_http) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert stored(name) == 24 * 10 * 3


@pytest.mark.parametrize("setting", ["grpc_address", "http_address"])
def test_a_port_in_use_is_named(setting: str, store: Store) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        settings = ReceiveSettings(
            **{"grpc_address": "127.0.0.1:0", "http_address": "127.0.0.1:0", setting: address}
        )
        refused = OtlpReceiver(store, settings, CollectorRegistry())
        with pytest.raises(ConfigError, match=f"{address}.*in use"):
            refused.start()


def test_two_receivers_do_not_share_a_grpc_port(receiver: OtlpReceiver, store: Store) -> None:
    settings = ReceiveSettings(f"127.0.0.1:{receiver.grpc_port}", "127.0.0.1:0")
    with pytest.raises(ConfigError, match=str(receiver.grpc_port)):
        OtlpReceiver(store, settings, CollectorRegistry()).start()


@pytest.mark.parametrize("address", ["4317", "127.0.0.1:", ":4317", "127.0.0.1:99999", "127.0.0.1:otlp"])
def test_a_bad_address_names_the_setting(address: str, store: Store) -> None:
    with pytest.raises(ConfigError, match="otlp-grpc"):
        OtlpReceiver(store, ReceiveSettings(address, "127.0.0.1:0"), CollectorRegistry()).start()


def test_stopping_answers_what_is_in_flight_and_closes_the_ports(store: Store, stored: Stored) -> None:
    name = unique_name()
    running = OtlpReceiver(
        store, ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", linger=0.5), CollectorRegistry()
    )
    running.start()
    ports = (running.grpc_port, running.http_port)
    with grpc.insecure_channel(f"127.0.0.1:{ports[0]}") as channel:
        exports = [
            channel.unary_unary(f"/{TRACE_SERVICE}/Export").future(body(name), timeout=30) for _ in range(5)
        ]
        grpc.channel_ready_future(channel).result(timeout=5)
        answers: list[int] = []
        posting = threading.Thread(
            target=lambda: answers.append(
                httpx.post(
                    f"http://127.0.0.1:{ports[1]}/v1/traces",
                    content=body(name),
                    headers={"content-type": "application/x-protobuf"},
                ).status_code
            )
        )
        posting.start()
        threading.Event().wait(0.2)
        running.stop(grace=5)
        posting.join(timeout=10)
        for export in exports:
            export.result()

    assert answers == [200]
    assert stored(name) == 6
    for port in ports:
        with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            pass


def test_a_body_that_never_ends_is_given_up(store: Store) -> None:
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", body_timeout=0.2)
    running = OtlpReceiver(store, settings, CollectorRegistry())
    running.start()
    try:
        with socket.create_connection(("127.0.0.1", running.http_port), timeout=10) as slow:
            slow.sendall(
                b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n"
                b"content-length: 1000\r\n\r\nabc"
            )
            assert slow.recv(1000).startswith(b"HTTP/1.1 408")
    finally:
        running.stop(grace=1)


def test_pdscopes_own_spans_are_stored_beside_the_rest_and_never_feed_themselves(store: Store) -> None:
    before = _own_spans(store)
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", own_span_ratio=1.0)
    running = OtlpReceiver(store, settings, CollectorRegistry())
    running.start()
    for _ in range(3):
        _export(running.grpc_port, body(unique_name()))
    running.own_spans.flush()
    running.own_spans.flush()
    running.stop()

    assert _own_spans(store) - before == {("pdscope.receive", "pdscope"): 3, ("pdscope.commit", "pdscope"): 3}


def _own_spans(store: Store) -> "Counter[tuple[str, str]]":
    rows = store.query(
        "SELECT name, service, count() FROM spans JOIN resources FINAL USING resource_id "
        "WHERE name LIKE 'pdscope.%' GROUP BY name, service"
    )
    return Counter({(name, service): count for name, service, count in rows})
