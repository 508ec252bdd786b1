"""How long REST takes to answer: 100,000 requests over four hours, questions about one-hour windows.

python -m bench.rest [--requests 100000] [--hours 4] [--rounds 40]
"""

import argparse
import json
import random
import statistics
import tempfile
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

from prometheus_client import CollectorRegistry

from analyzer.api.app import create_app
from analyzer.api.server import RestServer
from analyzer.api.services import Readiness, Services
from analyzer.minutes import Minutes
from analyzer.slo.objectives import Objective, Objectives, Selector
from collector.settings import Address, Settings
from collector.sql import read_sql
from collector.store.store import Store

START = int(datetime(2026, 3, 2, 8, tzinfo=UTC).timestamp())
HOUR = 3600
OBJECTIVES = Objectives(
    (
        Objective("short", 1.0, 0.05, selector=Selector(input_bucket="0-1K")),
        Objective("acme", 2.0, 0.05, selector=Selector(tenant="acme")),
        Objective("large", 4.0, 0.08, selector=Selector(model="llama-70b")),
        Objective("rest", 2.0, 0.1, source="default"),
    )
)
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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        store = Store.open(Path(directory) / "store")
        params = {"count": options.requests, "start": START, "seconds": options.hours * HOUR}
        store.command(read_sql(__file__, "rest_fill"), params)
        Minutes(store, lambda: OBJECTIVES, lambda: options.requests).catch_up()
        services = Services(
            store, lambda: OBJECTIVES, None, CollectorRegistry(), lambda: Readiness(True), Settings()
        )
        server = RestServer(create_app(services), Address("127.0.0.1", 0))
        server.start()
        try:
            print(
                f"{options.requests:,} requests over {options.hours} h; windows of 1 h; "
                f"{options.rounds} calls each"
            )
            for name, call in CALLS.items():
                print(_line(name, *_times(server.url, call, options)))
        finally:
            server.stop()
            store.close()


def _times(url: str, call: str, options: argparse.Namespace) -> tuple[list[float], float]:
    """Wall milliseconds of each call, and the CPU milliseconds of both ends for one."""
    pick = random.Random(1)
    times = []
    cpu = 0.0
    for number in range(options.rounds + 3):
        start = START + pick.randrange((options.hours - 1) * HOUR)
        window = f"from={start}&to={start + HOUR}"
        address = url + call.format(window=window, number=pick.randrange(options.requests))
        began = time.perf_counter()
        with urllib.request.urlopen(address) as answer:
            json.load(answer)
        if number == 3:
            cpu = time.process_time()
        if number >= 3:
            times.append((time.perf_counter() - began) * 1e3)
    return times, (time.process_time() - cpu) * 1e3 / (options.rounds - 1)


def _line(name: str, times: list[float], cpu: float) -> str:
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[18]
    return f"{name:26} p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   max {max(times):7.1f} ms   CPU {cpu:6.1f} ms"


if __name__ == "__main__":
    main()
