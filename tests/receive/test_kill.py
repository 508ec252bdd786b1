"""kill -9 under load: everything acknowledged is there afterwards."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.receive.grpc_listener import TRACE_SERVICE
from tests.paths import PROJECT
from tests.receive.bodies import body


def _run(command: str, directory: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.receive.small_server", command, str(directory)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )


def _load_until_killed(port: int, acknowledged: set[str]) -> None:
    """Export until the server is gone, noting the span ids of what it acknowledged."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
        while True:
            data = body("killed", 20)
            try:
                call(data, timeout=10)
            except grpc.RpcError:
                return
            spans = ExportTraceServiceRequest.FromString(data).resource_spans[0].scope_spans[0].spans
            acknowledged.update(span.span_id.hex() for span in spans)


@pytest.mark.timeout(120)
def test_every_acknowledged_span_survives_kills_at_random_instants(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    for seed in range(4):
        server = _run("serve", tmp_path)
        assert server.stdout
        port = int(server.stdout.readline())
        clients = [threading.Thread(target=_load_until_killed, args=(port, acknowledged)) for _ in range(8)]
        before = len(acknowledged)
        for client in clients:
            client.start()
        deadline = time.monotonic() + 30
        while len(acknowledged) == before and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(random.Random(seed).uniform(0.1, 0.6))
        os.kill(server.pid, signal.SIGKILL)
        server.communicate()
        for client in clients:
            client.join()
        assert len(acknowledged) > before

    listing = _run("ids", tmp_path)
    stored, _ = listing.communicate(timeout=60)
    assert acknowledged <= set(stored.split())
