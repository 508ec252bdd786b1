"""CPU per request of rebuilding requests from spans, as the data grows, beside the plain Python reading.

    python -m bench.assembly [--requests 20000] [--growth 10] [--statements] [--json]

Native requests of ten spans, 12 attributes each, with first and last token events, stored in exports of 512.
Times are
CPU-seconds of this process; the plain Python figure is the oracle that property tests hold the SQL equal to.
"""

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from analyzer.assemble.assembler import DEFAULT_ROLES, Assembler
from analyzer.assemble.oracle import assemble
from analyzer.assemble.oracle_spans import Span, read_spans
from collector.engines import ADAPTERS
from collector.phases import Phase
from collector.store import Store

SPANS_PER_EXPORT = 512
EXPORTS_PER_INSERT = 40
START_NS = 1_790_000_000_000_000_000
_POOL = {Phase.ROUTER_QUEUE: "router", Phase.TOKENIZE: "router"} | dict.fromkeys(
    (Phase.PREFILL_QUEUE, Phase.PREFILL_COMPUTE, Phase.KV_PUBLISH), "prefill"
)
_PHASES = tuple(phase for phase in Phase if phase is not Phase.NETWORK_STREAMING)[:9]


def bodies(
    requests: int, seed: int = 1, start_ns: int = START_NS, per_export: int = SPANS_PER_EXPORT
) -> Iterator[bytes]:
    """Exports of `requests` requests that began 2 ms apart, each from one process, in order of time."""
    rng = random.Random(seed)
    waiting: dict[str, list[tuple[object, ...]]] = {"router": [], "prefill": [], "decode": []}
    for number in range(requests):
        for pool, span in _request(rng, start_ns + number * 2_000_000):
            waiting[pool].append(span)
            if len(waiting[pool]) == per_export:
                yield _export(pool, waiting[pool], rng)
                waiting[pool] = []
    for pool, spans in waiting.items():
        if spans:
            yield _export(pool, spans, rng)


def _request(rng: random.Random, start: int) -> Iterator[tuple[str, tuple[object, ...]]]:
    trace, root = rng.randbytes(16), rng.randbytes(8)
    name, at = f"req-{rng.getrandbits(64):016x}", start
    for phase in _PHASES:
        until = at + 1000 + int(rng.expovariate(1 / 2e7))
        yield (
            _POOL.get(phase, "decode"),
            (trace, rng.randbytes(8), root, f"pd.{phase}", at, until, name, None),
        )
        at = until
    first = at
    last = first + 100 * 20_000_000
    yield "router", (trace, root, b"", "pd.request", start, last, name, (first, last))


def _export(pool: str, spans: list[tuple[object, ...]], rng: random.Random) -> bytes:
    message = ExportTraceServiceRequest()
    of_process = message.resource_spans.add()
    for key, value in (
        ("service.name", f"bench-{pool}"),
        ("service.instance.id", f"{pool}-0"),
        ("pd.pool", pool),
    ):
        of_process.resource.attributes.add(key=key).value.string_value = value
    of_scope = of_process.scope_spans.add()
    for trace, own, parent, span_name, start, end, name, tokens in spans:
        span = of_scope.spans.add(
            trace_id=trace, span_id=own, parent_span_id=parent, name=span_name, kind=1,
            start_time_unix_nano=start, end_time_unix_nano=end,
        )  # fmt: skip
        texts = {"pd.request.id": name, "gen_ai.request.model": "llama-70b"}
        numbers: dict[str, int] = {}
        if tokens:
            for event, ns in zip(("first_token", "last_token"), tokens, strict=True):  # type: ignore[call-overload]
                span.events.add(name=event, time_unix_nano=ns)
            texts |= {"pd.tenant": f"t{rng.randrange(20)}", "pd.route": "/v1/chat", "pd.outcome": "ok"}
            texts |= {"pd.cohort": "bench", "pd.finish_reason": "stop", "pd.first_token_by": "decode"}
            numbers = {"gen_ai.usage.input_tokens": rng.randrange(4000), "gen_ai.usage.output_tokens": 101,
                       "http.response.status_code": 200, "pd.cached_tokens": 0}  # fmt: skip
        else:
            texts |= {"pd.phase": str(span_name)[3:], "pd.kv.transfer_id": str(name), "pd.kv.connector":
            "nixl",
                      "pd.kv.transport": "rdma", "engine.state": "ok"}  # fmt: skip
            numbers = {"pd.attempt": 1, "batch.size": rng.randrange(64), "pd.kv.bytes": rng.randrange(10**8),
                       "pd.kv.descriptors": 80, "engine.step": rng.randrange(10**6)}  # fmt: skip
        for key, text in texts.items():
            span.attributes.add(key=key).value.string_value = str(text)
        for key, number in numbers.items():
            span.attributes.add(key=key).value.int_value = number
    return message.SerializeToString()


def measure(requests: int) -> dict[str, float]:
    """Store and assemble `requests` requests; CPU microseconds per request."""
    exports = list(bodies(requests))
    with tempfile.TemporaryDirectory(prefix="pdscope-bench-") as scratch:
        store = Store.open(Path(scratch) / "data")
        assembler = _ByStatement(store)
        for at in range(0, len(exports), EXPORTS_PER_INSERT):
            store.insert_traces(exports[at : at + EXPORTS_PER_INSERT])
        began, wall = time.process_time(), time.perf_counter()
        while assembler.step():
            pass
        cpu, elapsed = time.process_time() - began, time.perf_counter() - wall
        rows, exact = store.query(
            "SELECT count(), sum(ttft_ns) = sum(arraySum(exposed_ns)) FROM requests FINAL"
        )[0]
        store.close()
    if rows != requests or not exact:
        raise SystemExit(f"assembled {rows} of {requests} requests; exposed time exact: {bool(exact)}")
    return {"requests": requests, "cpu_us": cpu / requests * 1e6, "wall_us": elapsed / requests * 1e6}


class _ByStatement(Assembler):
    """Adds up the CPU of each statement."""

    seconds: ClassVar[Counter[str]] = Counter()

    def _do(self, name: str, params: Mapping[str, object]) -> None:
        began = time.process_time()
        super()._do(name, params)
        self.seconds[name] += time.process_time() - began


def plain(requests: int) -> float:
    """CPU microseconds per request of the plain Python reading of the same spans."""
    by_trace: dict[bytes, list[Span]] = {}
    exports = list(bodies(requests))
    began = time.process_time()
    for span in read_spans(exports):
        by_trace.setdefault(span.trace_id, []).append(span)
    roles = [(pattern, role, False) for pattern, role in DEFAULT_ROLES]
    for spans in by_trace.values():
        assemble(spans, ADAPTERS, roles)
    return (time.process_time() - began) / requests * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--growth", type=int, default=10)
    parser.add_argument("--statements", action="store_true", help="Also the CPU of each statement.")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    small = measure(asked.requests)
    _ByStatement.seconds.clear()
    large = measure(asked.requests * asked.growth)
    python = plain(min(asked.requests, 2_000))
    found = {
        "small": small,
        "large": large,
        "growth": large["cpu_us"] / small["cpu_us"],
        "plain_python_cpu_us": python,
        "times_plain_python": python / small["cpu_us"],
    }
    if asked.json:
        print(json.dumps(found))
        return
    for size in (small, large):
        each = f"{size['cpu_us']:6.1f} µs CPU, {size['wall_us']:6.1f} µs wall each"
        print(f"{size['requests']:>9,} requests of 10 spans: {each}")
    print(f"cost per request at {asked.growth} times the data: {found['growth']:.2f} times")
    if asked.statements:
        for name, seconds in _ByStatement.seconds.most_common():
            print(f"  {name:16} {seconds / large['requests'] * 1e6:5.1f} µs")
    print(f"plain Python reading: {python:,.0f} µs CPU each, {found['times_plain_python']:.1f} times as much")


if __name__ == "__main__":
    main()
