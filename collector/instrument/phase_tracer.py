"""PhaseTracer: the `pd.*` convention for people who write their own router, engine or KV store.

tracer = PhaseTracer.connect("http://127.0.0.1:4317", Worker("my-router", pool="router"))
with tracer.request(headers) as request:
    with request.phase(Phase.ROUTER_QUEUE):
        worker = await choose()
    async for chunk in forward(worker, headers=request.outgoing_headers()):
        await send(chunk)
        request.sent(chunk)
"""

import uuid
from collections.abc import Mapping
from typing import Self

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from collector.instrument.export import Worker, trace_provider
from collector.instrument.leg import REQUEST_ID_HEADER, Leg, Value, propagator
from collector.instrument.request_trace import RequestTrace


class PhaseTracer:
    """Starts requests and legs. Holds no state of a request, so one serves a whole process."""

    def __init__(self, provider: TracerProvider | None = None, scope: str = "pdscope.phase_tracer") -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(scope) if provider else trace.get_tracer(scope)

    @classmethod
    def connect(cls, endpoint: str, worker: Worker) -> Self:
        """A tracer that exports to an OTLP/gRPC endpoint such as http://127.0.0.1:4317."""
        return cls(trace_provider(worker, endpoint))

    def request(
        self,
        headers: Mapping[str, str] | None = None,
        request_id: str | None = None,
        attributes: Mapping[str, Value | None] | None = None,
    ) -> RequestTrace:
        """Start a `pd.request` now; trace context and `x-request-id` come from the caller's `headers`."""
        found = _lowered(headers)
        rid = request_id or found.get(REQUEST_ID_HEADER) or uuid.uuid4().hex
        return RequestTrace(self._tracer, _parent(found), rid, attributes or {})

    def leg(
        self, headers: Mapping[str, str] | None = None, request_id: str | None = None, attempt: int = 1
    ) -> Leg:
        """Join a request that another process started, as a prefill or decode worker does."""
        found = _lowered(headers)
        rid = request_id or found.get(REQUEST_ID_HEADER) or ""
        return Leg(self._tracer, _parent(found), rid, attempt)

    def shutdown(self) -> None:
        """Send what is left and stop exporting."""
        if self._provider is not None:
            self._provider.shutdown()


def _lowered(headers: Mapping[str, str] | None) -> dict[str, str]:
    wanted = ("traceparent", "tracestate", REQUEST_ID_HEADER)
    return {low: value for name, value in (headers or {}).items() if (low := name.lower()) in wanted}


def _parent(headers: dict[str, str]) -> otel_context.Context:
    """The caller's context, or the current one when the headers carry none that is valid."""
    found = propagator.extract(headers, otel_context.Context())
    return found if trace.get_current_span(found).get_span_context().is_valid else otel_context.get_current()
