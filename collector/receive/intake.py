"""The way of one export, whatever brought it: checked whole, kept with others, acknowledged."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future

from opentelemetry.trace import SpanKind

from collector.errors import CollectorError
from collector.rates import SourceRates
from collector.receive.access import Access, Sender
from collector.receive.answers import (
    Acknowledgement,
    Refusal,
    logs_kept,
    metrics_kept,
    refusal,
    traces_kept,
)
from collector.receive.batcher import SELF, Batcher
from collector.receive.check import Rules, check_metrics, check_traces
from collector.receive.commit import Refused
from collector.receive.errors import QueueFull, TooFast
from collector.receive.export import Export, Kind
from collector.receive.memory import MemoryWatch
from collector.receive.metrics import ReceiveMetrics
from collector.receive.otlp_logs import spans_from_logs
from collector.receive.own_spans import SampledTracer
from collector.receive.settings import ReceiveSettings
from collector.receive.signal import Signal

_IN_PLACE_BYTES = 1 << 20
"""Larger bodies are parsed in a thread, so that the event loop keeps answering others."""

_ANSWERS: dict[Signal, Callable[[Refused], Acknowledgement]] = {
    Signal.TRACES: traces_kept,
    Signal.METRICS: metrics_kept,
    Signal.LOGS: logs_kept,
}


class Intake:
    """Takes serialized exports of every signal from the listeners' event loop."""

    def __init__(
        self,
        batcher: Batcher,
        settings: ReceiveSettings,
        metrics: ReceiveMetrics,
        tracer: SampledTracer,
        access: Access | None = None,
    ):
        self._batcher = batcher
        self._settings = settings
        self._metrics = metrics
        self._tracer = tracer
        self._access = access or Access()
        self._rules = Rules(settings.max_items, settings.scrub)
        self._rates = SourceRates(settings.source_bytes_per_s)
        self._memory = MemoryWatch(settings.max_memory_bytes)

    def sender(self, authorization: bytes, source: str) -> Sender:
        """Who sends. Raises Unauthorized."""
        return self._access.sender(authorization, source)

    async def accept(self, signal: Signal, body: bytes, transport: str, sender: Sender) -> Acknowledgement:
        """Return once the body is kept. Raises BadBody, Unavailable (and its kinds), StoreError."""
        arrived = time.monotonic()
        self._refuse_too_fast(sender, len(body))
        self._refuse_for_memory()
        if len(body) <= _IN_PLACE_BYTES:
            export = self._check(signal, body, sender.tenant)
        else:
            export = await asyncio.to_thread(self._check, signal, body, sender.tenant)
        self._count(export, transport)
        if not export.items:
            return _ANSWERS[signal]({})
        with self._tracer.span(
            "pdscope.receive",
            lambda: {
                "pdscope.transport": transport,
                "pdscope.signal": signal.value,
                "pdscope.items": export.items,
                "pdscope.bytes": len(body),
            },
            SpanKind.SERVER,
        ):
            refused = await asyncio.wrap_future(self._batcher.submit(export, transport))
        self._metrics.ack_seconds.labels(transport).observe(time.monotonic() - arrived)
        return _ANSWERS[signal](refused)

    def submit_own(self, body: bytes, spans: int) -> None:
        """Queue an export of pdscope's own spans, without waiting. Raises QueueFull, Unavailable."""
        self.submit(Export(Kind.TRACES, body, spans), SELF)

    def submit(self, export: Export, transport: str) -> "Future[Refused]":
        """Queue an export that pdscope made itself; the future ends when it is kept, or with why it was not.

        From any thread. Raises QueueFull, Unavailable.
        """
        self._count(export, transport)
        try:
            self._refuse_for_memory()
            return self._batcher.submit(self._scrubbed(export), transport)
        except CollectorError as error:
            self.refuse(error, transport)
            raise

    def _scrubbed(self, export: Export) -> Export:
        if not self._rules.scrub:
            return export
        check = check_metrics if export.kind is Kind.METRICS else check_traces
        return Export(export.kind, *check(export.body, None, self._rules))

    def refuse(self, error: CollectorError, transport: str) -> Refusal:
        """Count an error and say how to answer it."""
        answer = refusal(error, self._settings.retry_after)
        self._metrics.refused_exports.labels(transport, answer.reason).inc()
        return answer

    def refusal_now(self) -> str:
        """Why any export would be refused now; empty when it would not."""
        used, most = self._memory.used(), self._settings.max_memory_bytes
        return f"{used:,} bytes of memory are in use, of at most {most:,}" if most and used > most else ""

    def _check(self, signal: Signal, body: bytes, tenant: str | None) -> Export:
        if signal is Signal.METRICS:
            return Export(Kind.METRICS, *check_metrics(body, tenant, self._rules))
        if signal is Signal.LOGS:
            body, _, dropped = spans_from_logs(body)
            for reason, count in dropped.items():
                self._metrics.dropped_logs.labels(reason).inc(count)
        return Export(Kind.TRACES, *check_traces(body, tenant, self._rules))

    def _refuse_too_fast(self, sender: Sender, size: int) -> None:
        if not self._rates.spend(sender.tenant or sender.source, size):
            raise TooFast(
                f"this source sent more than {self._settings.source_bytes_per_s:,} bytes a second "
                "(otlp_source_bytes_per_s); send this export again later"
            )

    def _refuse_for_memory(self) -> None:
        why = self.refusal_now()
        if why:
            raise QueueFull(f"{why} (otlp_max_memory_bytes); send this export again later")

    def _count(self, export: Export, transport: str) -> None:
        exports, items, size = self._metrics.received(transport)
        exports.inc()
        items.inc(export.items)
        size.inc(len(export.body))
