"""Senders that keep what they must not lose: each export is a few whole requests, sent until acknowledged."""

import os
import random
import threading
import time
from dataclasses import dataclass, field

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.receive.grpc_listener import TRACE_SERVICE

SPANS_PER_REQUEST = 4


def requests_body(names: list[str], now_ns: int) -> bytes:
    """One export: per name a request span and three phases of it, 4 spans in all."""
    export = ExportTraceServiceRequest()
    sent = export.resource_spans.add()
    for key, value in (("service.name", "router"), ("service.instance.id", "router-0")):
        sent.resource.attributes.add(key=key).value.string_value = value
    spans = sent.scope_spans.add().spans
    for place, name in enumerate(names):
        trace, root = os.urandom(15) + b"\1", os.urandom(7) + b"\1"
        start = now_ns - 2_000_000_000 + place
        _span(spans, trace, root, b"", "pd.request", start, 1_000_000_000, name)
        for index, phase in enumerate(("router_queue", "prefill_compute", "decode")):
            at = start + index * 100_000_000
            _span(spans, trace, os.urandom(7) + b"\1", root, f"pd.{phase}", at, 100_000_000, name)
    return export.SerializeToString()


def _span(
    spans: "list[Span]", trace: bytes, own: bytes, parent: bytes, name: str, at: int, length: int, id: str
) -> None:
    span = spans.add(  # type: ignore[attr-defined]
        trace_id=trace,
        span_id=own,
        parent_span_id=parent,
        name=name,
        kind=1,
        start_time_unix_nano=at,
        end_time_unix_nano=at + length,
    )
    span.attributes.add(key="pd.request.id").value.string_value = id
    if name == "pd.request":
        span.attributes.add(key="pd.outcome").value.string_value = "ok"
        for event, offset in (("first_token", length // 2), ("last_token", length - 1)):
            span.events.add(name=event, time_unix_nano=at + offset)


@dataclass
class Tally:
    """What was sent and acknowledged, by request id."""

    acknowledged: set[str] = field(default_factory=set)
    refused: int = 0
    cut: int = 0
    """Exports whose answer never came: they may be stored or not, and were sent again."""
    resent_acknowledged: int = 0


class Senders:
    """Threads that send requests to whatever port is up, until told to stop."""

    def __init__(self, count: int, per_export: int = 3, seed: int = 0, pause_s: float = 0.01):
        self.tally = Tally()
        self.port: int | None = None
        self._per_export = per_export
        self._seed = seed
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(random.Random(seed * 1000 + n), n), daemon=True)
            for n in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> Tally:
        """End every sender; what has no answer yet is given up."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=30)
        return self.tally

    def _run(self, rng: random.Random, number: int) -> None:
        serial = 0
        pending: tuple[list[str], bytes] | None = None
        while not self._stop.is_set():
            port = self.port
            if port is None:
                time.sleep(0.01)
                continue
            options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
            with grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
                call = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
                while self.port == port and not self._stop.is_set():
                    again = pending is not None
                    if pending is None:
                        names = [
                            f"r-{os.getpid()}-{self._seed}-{number}-{serial}-{n}"
                            for n in range(self._per_export)
                        ]
                        serial += 1
                        pending = (names, requests_body(names, time.time_ns()))
                    try:
                        call(pending[1], timeout=20)
                    except grpc.RpcError as error:
                        with self._lock:
                            # pdscope says in words why it refuses; a broken connection has none.
                            if "grpc-status-details-bin" in dict(error.trailing_metadata() or ()):
                                self.tally.refused += 1
                            else:
                                self.tally.cut += 1
                        time.sleep(rng.uniform(0.01, 0.1))
                        continue
                    with self._lock:
                        self.tally.acknowledged.update(pending[0])
                        self.tally.resent_acknowledged += again
                    pending = None
                    time.sleep(rng.uniform(0, self._pause_s))
