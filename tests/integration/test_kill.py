"""kill -9 of `pdscope serve` under load: nothing acknowledged is lost, nothing is counted twice."""

import random
import subprocess
import sys
import threading
import time
from itertools import islice
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from analyzer.demo.capture import load, renew
from collector.receive.grpc_listener import TRACE_SERVICE
from tests.integration.running import Json, Server, end, send, serving, start
from tests.paths import PROJECT

CLIENTS = 4
KILLS = 3


class Client:
    """Exports its share in order, each until it is acknowledged, as an SDK that retries does."""

    def __init__(self, exports: list[bytes]):
        self.exports = exports
        self.acknowledged = 0

    def run(self, address: str) -> None:
        """Export until the server is gone or all is acknowledged."""
        with grpc.insecure_channel(address) as channel:
            call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
            while self.acknowledged < len(self.exports):
                try:
                    call(self.exports[self.acknowledged], timeout=30)
                except grpc.RpcError:
                    return
                self.acknowledged += 1


def _exports(lap: int) -> list[bytes]:
    """A recorded Dynamo deployment, with ids of its own."""
    return [renew(export.body, 0, lap) for export in islice(load("dynamo").exports, 40)]


def span_ids(exports: list[bytes]) -> set[str]:
    messages = (ExportTraceServiceRequest.FromString(body) for body in exports)
    return {
        span.span_id.hex()
        for message in messages
        for part in message.resource_spans
        for scope in part.scope_spans
        for span in scope.spans
    }


def _load(server: Server, clients: list[Client]) -> list[threading.Thread]:
    threads = [threading.Thread(target=client.run, args=(server.otlp_grpc,)) for client in clients]
    for thread in threads:
        thread.start()
    return threads


def _kill_under_load(data: Path, clients: list[Client], rest: float) -> None:
    server = start(data)
    before = sum(client.acknowledged for client in clients)
    threads = _load(server, clients)
    while sum(client.acknowledged for client in clients) == before and any(t.is_alive() for t in threads):
        time.sleep(0.01)
    time.sleep(rest)
    end(server)
    for thread in threads:
        thread.join()


def _stored_ids(data: Path) -> set[str]:
    command = [sys.executable, "-m", "tests.receive.small_server", "ids", str(data)]
    listing = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=60, check=True)
    return set(listing.stdout.split())


def _answers(server: Server) -> dict[str, Json]:
    """All requests, by trace."""
    found = server.requests()
    assert len({request["trace_id"] for request in found}) == len(found), "a request was doubled"
    return {request["trace_id"]: request for request in found}


@pytest.mark.timeout(280)
def test_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path) -> None:
    clients = [Client(_exports(lap)) for lap in range(CLIENTS)]
    everything = [body for client in clients for body in client.exports]
    dice = random.Random()
    for _ in range(KILLS):
        _kill_under_load(tmp_path / "data", clients, rest=dice.uniform(0, 0.8))
    promised = span_ids([body for client in clients for body in client.exports[: client.acknowledged]])
    assert promised
    with serving(tmp_path / "data") as server:
        server.settle()
    assert promised <= _stored_ids(tmp_path / "data")

    server = start(tmp_path / "data")
    for thread in _load(server, clients):
        thread.join()
    server.settle()
    killed = _answers(server)
    end(server)
    with serving(tmp_path / "data") as restarted:
        assert _answers(restarted) == killed

    with serving(tmp_path / "undisturbed") as other:
        send(other, everything)
        other.settle()
        undisturbed = _answers(other)
    assert len(killed) >= CLIENTS
    assert _without_keys(killed) == _without_keys(undisturbed)
    assert "Traceback" not in server.log.read_text()


def _without_keys(answers: dict[str, Json]) -> dict[str, Json]:
    """Keys are drawn, so another run over the same telemetry has others."""
    return {trace: {**answer, "key": None} for trace, answer in answers.items()}
