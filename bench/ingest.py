"""CPU and wall time per million spans, gRPC to queryable: pdscope, its peers and the floors, on one input.

    python -m bench.ingest [--spans 200000] [--sizes 512,20,1] [--repeat 3]

pdscope's journal is on; the Python loop stores before it answers; rotel (Rust; `pip install rotel`, left
out when it is not installed) sends to an embedded ClickHouse behind HTTP, whose CPU is counted with it. The
client is another process and is not counted. CPU is counted until every span can be queried; ratios are
within one run. Sizes of 20 and 1 spans an export use a tenth and a hundredth of the spans.
"""

import argparse
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.ingest_traces import make_export
from collector.receive.grpc_listener import TRACE_SERVICE

ROOT = Path(__file__).resolve().parents[1]
ROTEL_BATCH = "8192"
Result = tuple[float, float, float]
"""CPU-seconds and seconds per million spans, and MB resident at the end."""


class Server:
    """One or two processes that take OTLP/gRPC on `port` and store it."""

    def __init__(self, port: int, storing: "subprocess.Popen[str]", *others: "subprocess.Popen[str]"):
        self.port = port
        self._storing = storing
        self._all = (storing, *others)

    def stored(self) -> int:
        """Spans that can be queried now."""
        return self._says()[0]

    def stored_bytes(self) -> int:
        """Size on disk of the table of spans."""
        return self._says()[1]

    def _says(self) -> tuple[int, int]:
        assert self._storing.stdin
        assert self._storing.stdout
        self._storing.stdin.write("\n")
        self._storing.stdin.flush()
        spans, size = self._storing.stdout.readline().split()
        return int(spans), int(size)

    def cpu_s(self) -> float:
        """User and system time of all its processes."""
        total = 0
        for process in self._all:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        """Memory of all its processes."""
        pages = sum(int(Path(f"/proc/{p.pid}/statm").read_text().split()[1]) for p in self._all)
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def _started(*command: str, environ: dict[str, str] | None = None) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **(environ or {})},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def ours(role: str, *options: str) -> Iterator[Server]:
    """One of `bench.ingest_servers` on a directory of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="pdscope-bench-") as directory,
        _started(sys.executable, "-m", "bench.ingest_servers", role, directory, *options) as process,
    ):
        assert process.stdout
        yield Server(int(process.stdout.readline()), process)


@contextmanager
def _rotel() -> Iterator[Server]:
    agent = Path(str(find_spec("rotel").submodule_search_locations[0])) / "rotel-agent"  # type: ignore[union-attr,index]
    port, http = _free_port(), _free_port()
    with ours("receiver") as receiver:
        settings = {
            "ROTEL_OTLP_GRPC_ENDPOINT": f"127.0.0.1:{port}",
            "ROTEL_OTLP_HTTP_ENDPOINT": f"127.0.0.1:{http}",
            "ROTEL_EXPORTER": "clickhouse",
            "ROTEL_CLICKHOUSE_EXPORTER_ENDPOINT": f"http://127.0.0.1:{receiver.port}",
            "ROTEL_CLICKHOUSE_EXPORTER_DATABASE": "default",
            "ROTEL_CLICKHOUSE_EXPORTER_COMPRESSION": "none",
            "ROTEL_CLICKHOUSE_EXPORTER_ASYNC_INSERT": "false",
            "ROTEL_BATCH_MAX_SIZE": ROTEL_BATCH,
        }
        with _started(str(agent), "start", environ=settings) as process:
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield Server(port, receiver._storing, process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def client(port: int, exports: int, spans: int) -> None:
    """Send when told to, from 64 threads over 8 connections, until every export is acknowledged."""
    bodies = [make_export(seed, spans) for seed in range(exports)]
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.insecure_channel(f"127.0.0.1:{port}", options) for _ in range(8)]
    calls = [channel.unary_unary(f"/{TRACE_SERVICE}/Export") for channel in channels]
    print("ready", flush=True)
    input()

    def send(index: int) -> None:
        for _ in range(200):
            try:
                calls[index % 8](bodies[index], timeout=120)
                return
            except grpc.RpcError as error:
                if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED):
                    raise
                time.sleep(0.1)

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(send, range(exports)))
    print("done", flush=True)


def measure(server: Server, exports: int, spans: int) -> Result:
    """One run: from the first export until every span can be queried; begun once merges are done."""
    arguments = [str(server.port), str(exports), str(spans)]
    with _started(sys.executable, "-m", "bench.ingest", "--client-of", *arguments) as sender:
        assert sender.stdin
        assert sender.stdout
        sender.stdout.readline()
        before = server.stored()
        settle(server)
        cpu, began = server.cpu_s(), time.perf_counter()
        sender.stdin.write("\n")
        sender.stdin.flush()
        sender.stdout.readline()
        total = before + exports * spans
        deadline = time.monotonic() + 120
        while server.stored() < total and time.monotonic() < deadline:
            time.sleep(0.1)
        if server.stored() < total:
            print(f"  only {server.stored():,} of {total:,} spans arrived", file=sys.stderr)
        millions = exports * spans / 1e6
        return (
            (server.cpu_s() - cpu) / millions,
            (time.perf_counter() - began) / millions,
            server.resident_mb(),
        )


def settle(server: Server) -> None:
    """Wait until merges are done."""
    for _ in range(40):
        before = server.cpu_s()
        time.sleep(0.25)
        if server.cpu_s() - before < 0.02:
            return


def _floor(work: Callable[[], object], spans: int) -> Result:
    cpu, began = time.process_time(), time.perf_counter()
    work()
    return (time.process_time() - cpu) / spans * 1e6, (time.perf_counter() - began) / spans * 1e6, 0.0


def _parse(bodies: list[bytes]) -> None:
    for body in bodies:
        ExportTraceServiceRequest.FromString(body)


def _write(bodies: list[bytes]) -> None:
    with tempfile.TemporaryFile(dir=".") as file:
        for body in bodies:
            file.write(body)
        file.flush()
        os.fdatasync(file.fileno())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--spans", type=int, default=200_000)
    parser.add_argument("--sizes", default="512,20,1")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--client-of", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client_of:
        client(*options.client_of)
        return
    servers = {"pdscope": lambda: ours("pdscope"), "python loop": lambda: ours("loop")}
    if find_spec("rotel"):
        servers["rotel + store"] = _rotel
    for size in map(int, options.sizes.split(",")):
        share = {512: 1, 20: 10}.get(size, 100)
        exports = max(1, options.spans // share // size)
        bodies = [make_export(seed, size) for seed in range(min(exports, 50_000 // size + 1))]
        held = len(bodies) * size
        runs: dict[str, list[Result]] = {}
        for _ in range(options.repeat):
            runs.setdefault("parse alone", []).append(_floor(lambda b=bodies: _parse(b), held))
            runs.setdefault("write alone", []).append(_floor(lambda b=bodies: _write(b), held))
            for name in random.sample(sorted(servers), len(servers)):
                with servers[name]() as server:
                    # What a first insert costs once is no cost per span.
                    measure(server, max(1, exports // 10), size)
                    runs.setdefault(name, []).append(measure(server, exports, size))
        _show(size, exports, len(bodies[0]) / size, runs)


def _show(size: int, exports: int, bytes_a_span: float, runs: dict[str, list[Result]]) -> None:
    load = os.getloadavg()[0]
    print(
        f"\n{exports} exports of {size} spans, {bytes_a_span:.0f} bytes a span; load average {load:.1f} on "
        f"{os.cpu_count()} cores"
    )
    print(f"{'':16}{'CPU-s/M spans':>24}{'s/M spans':>12}{'MB':>7}{'  pdscope is cheaper by (per run)':>30}")
    for name, results in runs.items():
        cpu = sorted(result[0] for result in results)
        ratios = sorted(r[0] / p[0] for r, p in zip(results, runs["pdscope"], strict=True))
        print(
            f"{name:16}{statistics.median(cpu):12.1f} ({cpu[0]:.1f}-{cpu[-1]:.1f})"
            f"{statistics.median(result[1] for result in results):12.1f}{results[-1][2]:7.0f}"
            f"{statistics.median(ratios):12.2f} x ({ratios[0]:.2f}-{ratios[-1]:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
