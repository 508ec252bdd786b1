"""How pdscope holds up under many small exports: acknowledgement latency at a fixed rate, journal on.

    python -m bench.ingest_load [--rate 2000] [--spans 20] [--connections 200] [--seconds 20]

Starts `pdscope serve` and ten `h2load` (Debian: nghttp2-client), which send OTLP/gRPC at that rate
together, up to ten exports at a time over each connection, whatever the answers take. Written in C, they
leave the cores to the server: clients in Python take as much of the machine as what they measure. Each
repeats one export of its own, so spans come again and again, and are rebuilt again and again. h2load does not
read gRPC's status: what was refused is what the server counts.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from bench.ingest_traces import make_export
from bench.served import Served
from collector.receive.grpc_listener import TRACE_SERVICE

CLIENTS = 10
AT_ONCE = 10
WARM_UP_S = 3


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=2000)
    parser.add_argument("--spans", type=int, default=20)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pdscope-load-") as directory:
        server = Served(str(Path(directory) / "data"))
        try:
            _bench(server, Path(directory), options)
        finally:
            server.stop()


def _bench(server: Served, directory: Path, options: argparse.Namespace) -> None:
    for number in range(CLIENTS):
        body = make_export(number, options.spans)
        # gRPC's frame: not compressed, and the length
        (directory / f"body-{number}").write_bytes(b"\0" + len(body).to_bytes(4, "big") + body)
    _send(server, directory, options, WARM_UP_S)
    refused, cpu, began = _refused(server), server.cpu_s(), time.perf_counter()
    memory = _send(server, directory, options, options.seconds)
    cpu, wall, refused = server.cpu_s() - cpu, time.perf_counter() - began, _refused(server) - refused
    took = sorted(ms for number in range(CLIENTS) for ms in _took_ms(directory / f"log-{number}"))
    at = {p: took[min(len(took) - 1, int(len(took) * p / 100))] for p in (50, 90, 99, 99.9)}
    print(
        f"{len(took) / options.seconds:,.0f} exports/s of {options.spans} spans over "
        f"{options.connections} connections for {options.seconds} s; refused {refused:,}"
    )
    print("  answered after " + ", ".join(f"{ms:.0f} ms at p{p}" for p, ms in at.items()))
    print(
        f"  server: {cpu / wall:.2f} cores, {(len(took) - refused) * options.spans / cpu:,.0f} spans per "
        "CPU-second (assembly included)"
    )
    step = max(1, len(memory) // 15)
    series = ", ".join(f"{size:.0f}" for size in memory[::step])
    print(f"  resident, MB, every {step} s: {series}; at the end {memory[-1]:.0f}, at most {max(memory):.0f}")


def _send(server: Served, directory: Path, options: argparse.Namespace, seconds: int) -> list[float]:
    """Send for so long; return the server's resident megabytes, each second."""
    connections = options.connections // CLIENTS
    clients = []
    for number in range(CLIENTS):
        log = directory / f"log-{number}"
        log.unlink(missing_ok=True)
        command = ["h2load", "-c", connections, "-m", AT_ONCE, "-t", 1, "-D", seconds]
        command += ["--rps", options.rate / options.connections, "--log-file", log]
        command += ["-d", directory / f"body-{number}", "-H", "content-type: application/grpc"]
        command += ["-H", "te: trailers", f"http://127.0.0.1:{server.grpc_port}/{TRACE_SERVICE}/Export"]
        clients.append(subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL))
    memory = []
    while any(client.poll() is None for client in clients):
        memory.append(server.resident_mb())
        time.sleep(1)
    if any(client.returncode for client in clients):
        sys.exit("h2load failed; see what it said above")
    return memory


def _refused(server: Served) -> int:
    """Exports refused so far, for any reason."""
    page = httpx.get(f"{server.api}/metrics").text
    return sum(
        int(sample.value)
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "pdscope_refused_exports_total"
    )


def _took_ms(log: Path) -> list[float]:
    """Milliseconds of each answer: the log's third column."""
    return [int(line.split("\t")[2]) / 1e3 for line in log.read_text().splitlines()]


if __name__ == "__main__":
    main()
