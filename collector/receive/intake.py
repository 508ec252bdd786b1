"""The way of one trace export, whatever brought it: checked whole, batched, stored, acknowledged."""

import asyncio
import time

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.trace import SpanKind, Tracer
from opentelemetry.util.types import AttributeValue

from collector.errors import CollectorError
from collector.receive.answers import Refusal, acknowledgement, refusal
from collector.receive.batcher import SELF, Batcher
from collector.receive.check import check_traces
from collector.receive.metrics import ReceiveMetrics
from collector.receive.settings import ReceiveSettings


class TraceIntake:
    """Takes serialized ExportTraceServiceRequests from the listeners' event loop."""

    def __init__(self, batcher: Batcher, settings: ReceiveSettings, metrics: ReceiveMetrics, tracer: Tracer):
        self._batcher = batcher
        self._settings = settings
        self._metrics = metrics
        self._tracer = tracer

    async def accept(self, body: bytes, transport: str) -> ExportTraceServiceResponse:
        """Return once the body is stored. Raises BadBody, QueueFull, Unavailable, StoreError."""
        arrived = time.monotonic()
        spans = check_traces(body)
        self._count(body, spans, transport)
        if not spans:
            return acknowledgement({})
        attributes: dict[str, AttributeValue] = {
            "pdscope.transport": transport,
            "pdscope.spans": spans,
            "pdscope.bytes": len(body),
        }
        with self._tracer.start_as_current_span(
            "pdscope.receive", kind=SpanKind.SERVER, attributes=attributes
        ):
            refused = await asyncio.wrap_future(self._batcher.submit(body, spans, transport))
        self._metrics.ack_seconds.labels(transport).observe(time.monotonic() - arrived)
        return acknowledgement(refused)

    def submit_own(self, body: bytes, spans: int) -> None:
        """Queue an export of pdscope's own spans, without waiting. Raises QueueFull, Unavailable."""
        self._count(body, spans, SELF)
        try:
            self._batcher.submit(body, spans, SELF)
        except CollectorError as error:
            self.refuse(error, SELF)
            raise

    def refuse(self, error: CollectorError, transport: str) -> Refusal:
        """Count an error and say how to answer it."""
        answer = refusal(error, self._settings.retry_after)
        self._metrics.refused_exports.labels(transport, answer.reason).inc()
        return answer

    def _count(self, body: bytes, spans: int, transport: str) -> None:
        self._metrics.exports.labels(transport).inc()
        self._metrics.spans.labels(transport).inc(spans)
        self._metrics.bytes.labels(transport).inc(len(body))
