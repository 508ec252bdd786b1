"""What a million spans cost as the store grows, and as they come from many tenants.

    python -m bench.ingest_growth [--millions 10] [--tenants 0]

Exports of 512 spans over OTLP/gRPC into one embedded store, journal on: CPU-seconds of the server for each
million, merges included, and bytes a span on disk. No trace comes twice; time goes on by 5,000 spans a
second. The client is another process and is not counted.
"""

import argparse
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.ingest import Server, ours, settle
from bench.ingest_servers import token_of
from bench.ingest_traces import make_export
from collector.receive.grpc_listener import TRACE_SERVICE

SPANS = 512
EXPORTS = 1_000_000 // SPANS
SPANS_A_SECOND = 5_000
SHAPES = 200


class Shape:
    """An export of which ever new ones are made by writing other trace ids and times over its own."""

    def __init__(self, seed: int):
        body = make_export(seed, SPANS)
        self._bytes = np.frombuffer(body, np.uint8)
        ids, stamps, at = [], [], 0
        for span in ExportTraceServiceRequest.FromString(body).resource_spans[0].scope_spans[0].spans:
            at = body.index(span.trace_id, at)
            ids.append(at)
            for stamp in (span.start_time_unix_nano, span.end_time_unix_nano):
                stamps.append(body.index(struct.pack("<Q", stamp), at))
        self._ids = np.add.outer(ids, np.arange(16))
        self._stamps = np.add.outer(stamps, np.arange(8))

    def export(self, random: np.random.Generator, later_ns: int) -> bytes:
        """Return an export whose traces are new, `later_ns` after those of the first."""
        out = self._bytes.copy()
        out[self._ids] = random.integers(0, 256, self._ids.shape, np.uint8)
        stamps = out[self._stamps].copy().view("<u8") + np.uint64(later_ns)
        out[self._stamps] = stamps.view(np.uint8).reshape(self._stamps.shape)
        return out.tobytes()


def client(port: int, tenants: int) -> None:
    """Send a million spans for each line of input, and say when they are acknowledged."""
    shapes = [Shape(seed) for seed in range(SHAPES)]
    random = np.random.default_rng(1)
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.insecure_channel(f"127.0.0.1:{port}", options) for _ in range(8)]
    calls = [channel.unary_unary(f"/{TRACE_SERVICE}/Export") for channel in channels]
    print("ready", flush=True)

    def exports(million: int) -> Iterator[tuple[int, bytes]]:
        for number in range(million * EXPORTS, (million + 1) * EXPORTS):
            yield number, shapes[number % SHAPES].export(random, number * SPANS * 10**9 // SPANS_A_SECOND)

    def send(numbered: tuple[int, bytes]) -> None:
        number, body = numbered
        bearer = (("authorization", "Bearer " + token_of(number % tenants).decode()),) if tenants else None
        while True:
            try:
                calls[number % 8](body, timeout=120, metadata=bearer)
                return
            except grpc.RpcError as error:
                if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED):
                    raise

    with ThreadPoolExecutor(64) as pool:
        for million, _ in enumerate(sys.stdin):
            batch: list[tuple[int, bytes]] = []
            for export in exports(million):
                batch.append(export)
                if len(batch) == 64:
                    list(pool.map(send, batch))
                    batch.clear()
            list(pool.map(send, batch))
            print("done", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--millions", type=int, default=10)
    parser.add_argument("--tenants", type=int, default=0, help="0: none, and no token is asked for")
    parser.add_argument("--client-of", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client_of:
        client(options.client_of, options.tenants)
        return
    with ours("pdscope", str(options.tenants)) as server:
        command = [sys.executable, "-m", "bench.ingest_growth", "--client-of", str(server.port)]
        command += ["--tenants", str(options.tenants)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sender:
            for million in range(options.millions):
                _one(server, sender, million)
            assert sender.stdin
            sender.stdin.close()


def _one(server: Server, sender: "subprocess.Popen[str]", million: int) -> None:
    assert sender.stdin
    assert sender.stdout
    if not million:
        sender.stdout.readline()
    cpu = server.cpu_s()
    sender.stdin.write("\n")
    sender.stdin.flush()
    sender.stdout.readline()
    deadline = time.monotonic() + 120
    while server.stored() < (million + 1) * EXPORTS * SPANS and time.monotonic() < deadline:
        time.sleep(0.5)
    settle(server)
    stored = server.stored()
    print(
        f"{stored:12,} spans: {server.cpu_s() - cpu:5.1f} CPU-s for the last million, "
        f"{server.stored_bytes() / stored:5.1f} bytes a span, {server.resident_mb():5.0f} MB resident",
        flush=True,
    )


if __name__ == "__main__":
    main()
