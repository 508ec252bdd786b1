"""How much memory `serve` holds at a steady 5,000 spans a second: `pytest -m long -s`."""

import time
from pathlib import Path

import grpc
import pytest

from analyzer.demo.capture import load, renew
from collector.receive.grpc_listener import TRACE_SERVICE
from tests.integration.running import Server, serving
from tests.integration.test_kill import span_ids

SPANS_PER_S = 5_000
SECONDS = 60
MOST_MB = 900


def _resident_mb(server: Server) -> float:
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise AssertionError("no VmRSS")


@pytest.mark.long
@pytest.mark.timeout(300)
def test_memory_stays_bounded_at_5000_spans_a_second(tmp_path: Path) -> None:
    capture = load("dynamo")
    # Concatenated exports are one export: a lap of the recording goes out whole.
    lap = b"".join(export.body for export in capture.exports)
    spans = len(span_ids([lap]))
    with serving(tmp_path / "data") as server, grpc.insecure_channel(server.otlp_grpc) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
        began, sent, highest = time.monotonic(), 0, 0.0
        while time.monotonic() - began < SECONDS:
            shift = time.time_ns() - capture.started_ns
            call(renew(lap, shift, time.time_ns()), timeout=60)
            sent += spans
            highest = max(highest, _resident_mb(server))
            time.sleep(max(0.0, began + sent / SPANS_PER_S - time.monotonic()))
        rate = sent / (time.monotonic() - began)
        server.settle()
        highest = max(highest, _resident_mb(server))
        print(f"\nready in {server.ready_s:.1f} s; {rate:,.0f} spans/s for {SECONDS} s: {highest:,.0f} MB")
        assert rate > 0.8 * SPANS_PER_S, "this machine is too busy to tell"
        assert highest < MOST_MB
