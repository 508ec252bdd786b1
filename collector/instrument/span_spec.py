"""A span as plain values, and how it becomes one of the SDK."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from collector.instrument.leg import propagator

SAMPLED = TraceFlags(TraceFlags.SAMPLED)


@dataclass(frozen=True, slots=True)
class SpanSpec:
    """A finished span (Unix nanoseconds).

    `headers` carry the trace context it belongs to; without one, `join_key` places the spans of both sides of
    a hand-off in one trace of their own.
    """

    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, str | int | float]
    headers: Mapping[str, str] | None
    join_key: str
    failed: bool = False


def context_of(spec: SpanSpec) -> Context:
    """The parent's context."""
    found = propagator.extract(dict(spec.headers or {}), Context())
    if trace.get_current_span(found).get_span_context().is_valid:
        return found
    digest = hashlib.sha256(spec.join_key.encode()).digest()
    ids = int.from_bytes(digest[:16], "big") or 1, int.from_bytes(digest[16:24], "big") or 1
    return trace.set_span_in_context(NonRecordingSpan(SpanContext(*ids, True, SAMPLED)), Context())


def is_sampled(context: Context, ratio: float) -> bool:
    """Whether a trace is in the sample; both sides of a hand-off decide alike (as TraceIdRatioBased does)."""
    trace_id = trace.get_current_span(context).get_span_context().trace_id
    return (trace_id & 0xFFFF_FFFF_FFFF_FFFF) < round(ratio * 2**64)


def emit(tracer: trace.Tracer, spec: SpanSpec, ratio: float = 1.0) -> None:
    """Write the span, if its trace is in the sample and its caller sampled it."""
    context = context_of(spec)
    if not is_sampled(context, ratio):
        return
    span = tracer.start_span(spec.name, context, SpanKind.INTERNAL, spec.attributes, start_time=spec.start_ns)
    if spec.failed:
        span.set_status(Status(StatusCode.ERROR))
    span.end(max(spec.start_ns, spec.end_ns))
