"""Memory, acknowledgements and lag of `pdscope serve` under a steady load of fresh requests, with a drawing.

    python -m bench.soak [--minutes 15] [--requests 500] [--draw docs/soak.svg] [--json]

Native requests of ten spans, 12 attributes each, in exports of 100 spans, sent by another process as they
happen: none comes twice, so the store grows all the time. Latency is counted from when an export was due.
At the end every acknowledged request must be assembled, once.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
from prometheus_client.parser import text_string_to_metric_families
from rich.progress import track

from analyzer.plan.plots.canvas import Canvas
from bench.assembly import bodies
from bench.served import Served
from collector.receive.grpc_listener import TRACE_SERVICE

TICK_S = 0.2
SAMPLE_S = 5.0
CHANNELS = 8
PER_EXPORT = 100
AGE_NS = 3_000_000_000
"""How long ago the requests began that are sent: they lasted some 2.3 s."""


@dataclass(frozen=True)
class Sample:
    """What the server took and how far it was, at seconds `at`."""

    at: float
    resident_mb: float
    cores: float
    lag_inserts: float
    metrics_s: float
    """What `GET /metrics` took."""


def send(port: int, requests_per_s: int, seconds: float) -> None:
    """Send from this process; prints how many requests were acknowledged and each export's (due, latency)."""
    channels = [
        grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)])
        for _ in range(CHANNELS)
    ]
    calls = [channel.unary_unary(f"/{TRACE_SERVICE}/Export") for channel in channels]
    began, a_tick = time.monotonic(), max(1, round(requests_per_s * TICK_S))
    ticks = int(seconds / TICK_S)
    took: list[tuple[float, float]] = []

    def one(number: int, due: float, body: bytes) -> None:
        calls[number % CHANNELS](body, timeout=60)
        took.append((due - began, time.monotonic() - due))

    with ThreadPoolExecutor(CHANNELS) as pool:
        sent = []
        for tick in range(ticks):
            due = began + tick * TICK_S
            time.sleep(max(0.0, due - time.monotonic()))
            now = time.time_ns() - AGE_NS
            for body in bodies(a_tick, seed=tick, start_ns=now, per_export=PER_EXPORT):
                sent.append(pool.submit(one, len(sent), due, body))
        for each in sent:
            each.result()
    print(json.dumps({"requests": ticks * a_tick, "took": took, "wall": time.monotonic() - began}))


def watch(server: Served, seconds: float) -> list[Sample]:
    """Look at the server every few seconds for as long."""
    samples = []
    began, before = time.monotonic(), server.cpu_s()
    for number in track(
        range(1, max(1, int(seconds / SAMPLE_S)) + 1), "soaking", disable=not sys.stderr.isatty()
    ):
        time.sleep(max(0.0, began + number * SAMPLE_S - time.monotonic()))
        asked = time.monotonic()
        lag = _lag(server)
        took, at, used = time.monotonic() - asked, time.monotonic() - began, server.cpu_s()
        cores = (used - before) / (at - (samples[-1].at if samples else 0.0))
        samples.append(Sample(at, server.resident_mb(), cores, lag, took))
        before = used
    return samples


def _lag(server: Served) -> float:
    with urllib.request.urlopen(f"{server.api}/metrics", timeout=300) as answer:
        page = answer.read().decode()
    families = {family.name: family for family in text_string_to_metric_families(page)}
    return float(families["pdscope_assembly_lag_inserts"].samples[0].value)


def _assembled(server: Served, since: datetime, wanted: int) -> int:
    """Requests found once what was sent could be assembled; waits up to a minute for `wanted`."""
    found = 0
    for _ in range(60):
        window = urllib.parse.urlencode({"from": since.isoformat(), "to": datetime.now(UTC).isoformat()})
        with urllib.request.urlopen(f"{server.api}/api/v1/requests?limit=1&{window}", timeout=60) as answer:
            found = json.load(answer)["total"]
        if found >= wanted:
            break
        time.sleep(1)
    return found


def draw(samples: list[Sample], took: list[list[float]]) -> str:
    """Resident memory, and what acknowledgements took at p99 of each sample's time, over the minutes."""
    canvas = Canvas(760, 320, "Memory and acknowledgement latency over the minutes of the soak")
    minutes = [sample.at / 60 for sample in samples]
    memory = [sample.resident_mb for sample in samples]
    slowest = [
        1e3 * _quantile([ms for due, ms in took if sample.at - SAMPLE_S <= due < sample.at], 0.99)
        for sample in samples
    ]
    _panel(canvas, 20, minutes, memory, "resident memory, MB")
    _panel(canvas, 170, minutes, slowest, "acknowledged within, ms, 99 of 100 exports")
    return canvas.svg()


def _panel(canvas: Canvas, top: int, across: list[float], up: list[float], title: str) -> None:
    left, right, height = 60, 740, 100
    most, last = max(up) * 1.1 or 1.0, across[-1]
    canvas.text(left, top + 8, title)
    bottom = top + 16 + height
    for level in (0.0, most / 2, most):
        y = bottom - level / most * height
        canvas.add("line", "rule", x1=left, x2=right, y1=y, y2=y)
        canvas.text(left - 6, y + 4, f"{level:.0f}", "quiet", "end")
    points = " ".join(
        f"{left + x / last * (right - left):.1f},{bottom - y / most * height:.1f}"
        for x, y in zip(across, up, strict=True)
    )
    canvas.add("polyline", "edge").set("points", points)
    for minute in range(0, int(last) + 1, max(1, int(last) // 5)):
        canvas.text(left + minute / last * (right - left), bottom + 16, f"{minute} min", "quiet", "middle")


def _quantile(values: list[float], q: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * q))] if values else 0.0


def _soak(server: Served, asked: argparse.Namespace) -> tuple[list[Sample], dict[str, Any], int]:
    """Samples, what the client tells, and how many requests were found at the end."""
    # what is sent first began before it was sent
    since = datetime.now(UTC).replace(microsecond=0) - timedelta(microseconds=AGE_NS / 1000)
    command = [sys.executable, "-m", "bench.soak", "--client-of", str(server.grpc_port)]
    command += ["--minutes", str(asked.minutes), "--requests", str(asked.requests)]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        samples = watch(server, asked.minutes * 60)
        told = json.loads(client.communicate()[0])
    finally:
        client.kill()
    return samples, told, _assembled(server, since, told["requests"])


def main() -> None:
    """Run the soak; exit status 1 when an acknowledged request is missing or there twice."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--requests", type=int, default=500, help="a second, of ten spans each")
    parser.add_argument("--draw", type=Path, help="file for the drawing")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--client-of", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.client_of:
        send(asked.client_of, asked.requests, asked.minutes * 60)
        return
    with tempfile.TemporaryDirectory(prefix="pdscope-soak-") as directory:
        server = Served(directory)
        try:
            samples, told, found = _soak(server, asked)
        finally:
            server.stop()
    _report(asked, samples, told, found)


def _report(asked: argparse.Namespace, samples: list[Sample], told: dict[str, Any], found: int) -> None:
    took = [ms for _, ms in told["took"]]
    half = len(samples) // 2
    early, late = (
        sorted(s.resident_mb for s in part)[len(part) // 2]
        for part in (samples[:half] or samples, samples[half:])
    )
    result = {
        "spans_per_s": told["requests"] * 10 / told["wall"],
        "requests": told["requests"],
        "assembled": found,
        "acknowledged_ms": {p: 1e3 * _quantile(took, p / 100) for p in (50, 99, 99.9)},
        "cores": sum(sample.cores for sample in samples) / len(samples),
        "resident_mb": {
            "first_half": early,
            "second_half": late,
            "most": max(s.resident_mb for s in samples),
        },
        "metrics_s_most": max(sample.metrics_s for sample in samples),
        "lag_inserts_most": max(sample.lag_inserts for sample in samples),
    }
    if asked.draw:
        asked.draw.write_text(draw(samples, told["took"]) + "\n", "utf-8")
    if asked.json:
        print(json.dumps(result | {"samples": [asdict(sample) for sample in samples]}))
    else:
        for name, value in result.items():
            print(f"{name:18} {value}")
    if found != told["requests"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
