"""CPU a span costs: gRPC → stored → acknowledged, beside the same work done by a plain Python loop.

    python bench/ingest_traces.py [--exports 400] [--spans 512] [--clients 64]

Input: exports of 512 spans in traces of nine, 12 attributes each, two events on every fourth span. The client
is another process, so that its CPU is not counted. Printed: spans per CPU-second of the server process
(receive, check, parse, insert, merges until the last ack), of storing alone in batches as large as the
journal's are under load, of a Python loop into the same table, and their ratios.
"""

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from prometheus_client import CollectorRegistry

from collector.receive import OtlpReceiver, ReceiveSettings
from collector.receive.grpc_listener import TRACE_SERVICE
from collector.store import Store

START = 1_790_000_000_000_000_000
COLUMNS = [
    "trace_id", "span_id", "parent_id", "resource_id", "scope", "name", "kind", "status", "status_message",
    "start_ns", "end_ns", "attrs", "events", "links", "ingest_sequence",
]  # fmt: skip


SPANS_OF_A_TRACE = 9
"""A request's spans from router, prefill, KV hand-over and decode."""


def make_export(seed: int, spans: int) -> bytes:
    """One export of one process, different for each seed; its traces have nine spans each."""
    rng = random.Random(seed)
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    for key, value in {"service.name": "decode", "service.instance.id": f"decode-{seed % 16}"}.items():
        resource.resource.attributes.add(key=key).value.string_value = value
    scope = resource.scope_spans.add()
    scope.scope.name = "bench"
    for index in range(spans):
        start = START + seed * 1_000_000 + index * 1_000
        if index % SPANS_OF_A_TRACE == 0:
            trace_id = rng.randbytes(16)
        span = scope.spans.add(
            trace_id=trace_id,
            span_id=rng.randbytes(8),
            parent_span_id=rng.randbytes(8),
            name=f"phase.{index % 9}",
            kind=1,
            start_time_unix_nano=start,
            end_time_unix_nano=start + rng.randrange(10**9),
        )
        for number in range(12):
            attribute = span.attributes.add(key=f"gen_ai.key.number_{number}")
            if number % 3:
                attribute.value.string_value = f"value-{rng.randrange(1000)}"
            else:
                attribute.value.int_value = rng.randrange(10**6)
        if index % 4 == 0:
            span.events.add(name="first_token", time_unix_nano=start + 5)
            span.events.add(name="last_token", time_unix_nano=start + 9)
    return request.SerializeToString()


def cpu_seconds() -> float:
    """User and system time of this process and all its threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(spans: int, work: Callable[[], object]) -> tuple[float, float]:
    """Spans per CPU-second and per second of `work`, begun when merges of what came before are done."""
    for _ in range(60):
        before = cpu_seconds()
        time.sleep(0.5)
        if cpu_seconds() - before < 0.03:
            break
    cpu, wall = cpu_seconds(), time.perf_counter()
    work()
    return spans / (cpu_seconds() - cpu), spans / (time.perf_counter() - wall)


def client(port: int, exports: int, spans: int, clients: int) -> None:
    """Send `exports` exports from `clients` threads and print the latencies of their acknowledgements."""
    bodies = [make_export(seed, spans) for seed in range(exports)]
    channels = [
        grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)]) for _ in range(8)
    ]
    calls = [channel.unary_unary(f"/{TRACE_SERVICE}/Export") for channel in channels]
    input()

    def send(index: int) -> float:
        began = time.perf_counter()
        calls[index % 8](bodies[index], timeout=120)
        return time.perf_counter() - began

    with ThreadPoolExecutor(clients) as pool:
        took = sorted(pool.map(send, range(exports)))
    print(f"{took[len(took) // 2] * 1e3:.0f} {took[int(len(took) * 0.99)] * 1e3:.0f}")


def rows_by_python_loop(body: bytes, sequence: int) -> list[list[object]]:
    """What a plain exporter does: each span to a row, in Python."""
    rows: list[list[object]] = []
    for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource_spans.scope_spans:
            for span in scope.spans:
                events = [
                    (event.time_unix_nano, event.name, _texts(event.attributes)) for event in span.events
                ]
                links = [(link.trace_id, link.span_id) for link in span.links]
                rows.append([
                    span.trace_id, span.span_id, span.parent_span_id, 0, scope.scope.name, span.name,
                    span.kind, span.status.code, span.status.message, span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    _texts(span.attributes), events, links, sequence,
                ])  # fmt: skip
    return rows


def _texts(attributes: "list[KeyValue]") -> dict[str, str]:
    return {
        attribute.key: str(getattr(attribute.value, attribute.value.WhichOneof("value") or "string_value"))
        for attribute in attributes
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--exports", type=int, default=400)
    parser.add_argument("--spans", type=int, default=512)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--client-of", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client_of:
        client(options.client_of, options.exports, options.spans, options.clients)
        return
    directory = tempfile.mkdtemp(prefix="pdscope-bench-")
    try:
        _bench(Path(directory), options.exports, options.spans, options.clients)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _bench(directory: Path, exports: int, spans: int, clients: int) -> None:
    store = Store.open(directory)
    bodies = [make_export(seed, spans) for seed in range(min(exports, 260))]
    together = max(1, ReceiveSettings().max_batch_bytes // len(bodies[0]))
    store.insert_traces(bodies[:1])
    total = len(bodies) * spans

    loop_bodies = bodies[:20]
    loop, _ = measure(
        len(loop_bodies) * spans,
        lambda: store.insert(
            "spans", [row for body in loop_bodies for row in rows_by_python_loop(body, 0)], COLUMNS
        ),
    )
    alone, _ = measure(
        total,
        lambda: [store.insert_traces(bodies[at : at + together]) for at in range(0, len(bodies), together)],
    )
    checked, _ = measure(total, lambda: [ExportTraceServiceRequest.FromString(body) for body in bodies])

    receiver = OtlpReceiver(store, ReceiveSettings("127.0.0.1:0", "127.0.0.1:0"), CollectorRegistry())
    receiver.start()
    arguments = ["--client-of", str(receiver.grpc_port), "--exports", str(exports)]
    arguments += ["--spans", str(spans), "--clients", str(clients)]
    sender = subprocess.Popen(
        [sys.executable, __file__, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    before = store.last_sequence
    latencies: list[str] = []
    _wait_until_idle(sender.pid)
    end_to_end, wall = measure(
        exports * spans, lambda: latencies.extend(sender.communicate("\n", timeout=600)[0].split())
    )
    inserts = store.last_sequence - before
    receiver.stop()
    with open("/proc/self/statm") as statm:
        resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    print(f"{exports} exports of {spans} spans, {len(bodies[0]) / spans:.0f} bytes a span, {clients} clients")
    print(f"  protobuf check alone                 {checked:>10,.0f} spans per CPU-second")
    print(f"  Python loop into the same table      {loop:>10,.0f}")
    print(f"  store alone, {together:3} exports an insert   {alone:>10,.0f}  = {alone / loop:.1f} x the loop")
    print(
        f"  gRPC → stored → acknowledged         {end_to_end:>10,.0f}  = {end_to_end / loop:.1f} x the loop"
    )
    print(f"  {wall:,.0f} spans/s, {exports / inserts:.0f} exports an insert, {resident:.0f} MB resident")
    print(f"  acknowledged after {latencies[0]} ms at p50, {latencies[1]} ms at p99")


def _wait_until_idle(pid: int) -> None:
    """Wait until the client has made its input and sleeps, so that the two do not compete while it does."""
    for _ in range(600):
        time.sleep(0.5)
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        if fields[0] == "S" and int(fields[11]) > 20:
            return


if __name__ == "__main__":
    main()
