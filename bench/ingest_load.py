"""How pdscope holds up under many small exports: acknowledgement latency at a fixed rate, journal on.

    python bench/ingest_load.py [--rate 2000] [--spans 20] [--connections 200] [--seconds 20]

Starts `pdscope serve` and two client processes that send at that rate from so many gRPC connections.
Latency is counted from when an export was due, so that a stall shows in all exports it delayed.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import grpc

from bench.ingest_traces import make_export
from bench.served import Served
from collector.receive.grpc_listener import TRACE_SERVICE

CLIENTS = 2


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=2000)
    parser.add_argument("--spans", type=int, default=20)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--client-of", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client_of:
        asyncio.run(client(options))
        return
    with tempfile.TemporaryDirectory(prefix="pdscope-load-") as directory:
        _bench(directory, options)


async def client(options: argparse.Namespace) -> None:
    """Send `rate` exports a second and print how many were answered and their latencies."""
    bodies = [make_export(seed, options.spans) for seed in range(200)]
    local = [("grpc.use_local_subchannel_pool", 1)]
    channels = [
        grpc.aio.insecure_channel(f"127.0.0.1:{options.client_of}", options=local)
        for _ in range(options.connections)
    ]
    calls = [channel.unary_unary(f"/{TRACE_SERVICE}/Export") for channel in channels]
    await asyncio.gather(*(call(bodies[0]) for call in calls))
    took: list[float] = []
    failed = 0

    async def send(index: int, due: float) -> None:
        nonlocal failed
        try:
            await calls[index % len(calls)](bodies[index % len(bodies)], timeout=30)
            took.append(time.perf_counter() - due)
        except grpc.RpcError:
            failed += 1

    began = time.perf_counter()
    running = set()
    total = int(options.rate * options.seconds)
    for index in range(total):
        due = began + index / options.rate
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        running.add(task := asyncio.create_task(send(index, due)))
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    wall = time.perf_counter() - began
    took.sort()
    print(json.dumps({"took": took, "failed": failed, "wall": wall}))


def _bench(directory: str, options: argparse.Namespace) -> None:
    server = Served(directory)
    arguments = [
        sys.executable,
        __file__,
        "--client-of",
        str(server.grpc_port),
        "--rate",
        str(options.rate / CLIENTS),
    ]
    arguments += ["--spans", str(options.spans), "--seconds", str(options.seconds)]
    arguments += ["--connections", str(options.connections // CLIENTS)]
    before = server.cpu_s()
    clients = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(CLIENTS)]
    memory: list[float] = []
    # Their answers are longer than a pipe holds: they end when they are read, not by themselves.
    for _ in range(int(options.seconds)):
        memory.append(server.resident_mb())
        time.sleep(1)
    answers = [json.loads(process.communicate()[0]) for process in clients]
    cpu = server.cpu_s() - before
    took = sorted(seconds for answer in answers for seconds in answer["took"])
    wall = max(answer["wall"] for answer in answers)
    step = max(1, len(memory) // 15)
    series = ", ".join(f"{size:.0f}" for size in memory[::step])
    server.stop()
    at = {p: 1e3 * took[min(len(took) - 1, int(len(took) * p / 100))] for p in (50, 90, 99, 99.9)}
    print(
        f"{len(took) / wall:,.0f} exports/s of {options.spans} spans over {options.connections} connections "
        f"for {wall:.0f} s; failed {sum(answer['failed'] for answer in answers)}"
    )
    print("  acknowledged after " + ", ".join(f"{ms:.0f} ms at p{p}" for p, ms in at.items()))
    print(
        f"  server: {cpu / wall:.2f} cores, {len(took) * options.spans / cpu:,.0f} spans per CPU-second "
        f"(assembly included)"
    )
    print(f"  resident, MB, every {step} s: {series}; at the end {memory[-1]:.0f}, at most {max(memory):.0f}")


if __name__ == "__main__":
    main()
