"""How long REST takes to answer about random hours of stored requests: idle, and while spans arrive.

    python -m bench.rest [--requests 100000] [--hours 4] [--rounds 40] [--load 200]

`pdscope serve` on a store that was filled and counted before. With `--load`, so many requests a second, of
ten spans each, are sent to it by another process, and everything is asked a second time. CPU is the server's,
for one call; under load it is what the load takes as well.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from analyzer.minutes import Minutes
from analyzer.slo.objectives import load_objectives
from bench.served import Served
from collector.sql import read_sql
from collector.store.store import Store

START = int(datetime(2026, 3, 2, 8, tzinfo=UTC).timestamp())
HOUR = 3600
SPANS = 10
"""Of a request that is sent meanwhile."""
OBJECTIVES = """
objectives:
  - {name: short, ttft: 1.0, tpot: 0.05, target: 0.99, selector: {input_bucket: 0-1K}}
  - {name: acme, ttft: 2.0, tpot: 0.05, target: 0.99, selector: {tenant: acme}}
  - {name: large, ttft: 4.0, tpot: 0.08, target: 0.99, selector: {model: llama-70b}}
  - {name: rest, ttft: 2.0, tpot: 0.1, target: 0.99}
"""
CALLS = {
    "/slo": "/api/v1/slo?{window}",
    "/slo/timeseries": "/api/v1/slo/timeseries?{window}&step=60",
    "/latency": "/api/v1/latency?{window}&metric=ttft&by=model",
    "/latency by phase": "/api/v1/latency?{window}&metric=prefill_queue&by=input_bucket",
    "/requests": "/api/v1/requests?{window}",
    "/requests slowest missed": "/api/v1/requests?{window}&order=slowest&missed=true",
    "/requests/{id}": "/api/v1/requests/request-{number}",
    "/diagnosis": "/api/v1/diagnosis?{window}",
    "/attribution": "/api/v1/attribution?{window}",
    "/pools": "/api/v1/pools?{window}",
    "/transfers": "/api/v1/transfers?{window}",
    "/kv/orphans": "/api/v1/kv/orphans?{window}",
    "/workload": "/api/v1/workload?{window}",
    "/telemetry": "/api/v1/telemetry?{window}",
}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--hours", type=int, default=4, help="over which the requests are spread")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--load", type=int, default=0, help="requests a second to send meanwhile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pdscope-rest-") as directory:
        slo = Path(directory) / "slo.yaml"
        slo.write_text(OBJECTIVES)
        _fill(Path(directory) / "store", slo, options)
        server = Served(f"{directory}/store", "--slo", str(slo))
        try:
            print(
                f"{options.requests:,} requests over {options.hours} h; windows of 1 h; "
                f"{options.rounds} calls each"
            )
            _ask_everything(server, options)
            if options.load:
                print(f"while {options.load * SPANS:,} spans a second arrive")
                with _sent_to(server, options.load):
                    _ask_everything(server, options)
        finally:
            server.stop()


def _fill(path: Path, slo: Path, options: argparse.Namespace) -> None:
    """Store the requests, and count their minutes as the server would."""
    store = Store.open(path)
    params = {"count": options.requests, "start": START, "seconds": options.hours * HOUR}
    store.command(read_sql(__file__, "rest_fill"), params)
    objectives = load_objectives(slo)
    Minutes(store, lambda: objectives, lambda: options.requests).catch_up()
    store.close()


@contextmanager
def _sent_to(server: Served, load: int) -> Iterator[None]:
    """Send requests from another process while questions are asked, and ten seconds before them."""
    command = [sys.executable, "-m", "bench.soak", "--client-of", str(server.grpc_port)]
    client = subprocess.Popen(
        [*command, "--minutes", "30", "--requests", str(load)], stdout=subprocess.DEVNULL
    )
    try:
        time.sleep(10)
        yield
    finally:
        client.kill()
        client.wait()


def _ask_everything(server: Served, options: argparse.Namespace) -> None:
    for name, call in CALLS.items():
        print(_line(name, *_times(server, call, options)), flush=True)


def _times(server: Served, call: str, options: argparse.Namespace) -> tuple[list[float], float]:
    """Wall milliseconds of each call, and the server's CPU milliseconds for one."""
    pick = random.Random(call)
    times = []
    cpu = 0.0
    for number in range(options.rounds + 3):
        start = START + pick.randrange((options.hours - 1) * HOUR)
        window = f"from={start}&to={start + HOUR}"
        address = server.api + call.format(window=window, number=pick.randrange(options.requests))
        if number == 3:
            cpu = server.cpu_s()
        began = time.perf_counter()
        with urllib.request.urlopen(address) as answer:
            json.load(answer)
        if number >= 3:
            times.append((time.perf_counter() - began) * 1e3)
    return times, (server.cpu_s() - cpu) * 1e3 / options.rounds


def _line(name: str, times: list[float], cpu: float) -> str:
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[18]
    return f"{name:26} p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   max {max(times):7.1f} ms   CPU {cpu:6.1f} ms"


if __name__ == "__main__":
    main()
