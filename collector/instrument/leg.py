"""One process's share of a request: phase spans in the request's trace.

Nothing here depends on the current task or thread: a leg carries its own context, so phases may be opened in
any task, thread or generator. Texts of exceptions are never recorded, for they may quote a prompt.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from collector import conventions as names
from collector.instrument.clock import SteadyClock
from collector.instrument.kv import KvHandoff
from collector.phases import Phase

Value = str | int | float | bool
REQUEST_ID_HEADER = "x-request-id"
propagator = TraceContextTextMapPropagator()


def kept(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    """Attributes that are known and may be sent: no text of prompts or answers, no end user's identity."""
    return {name: v for name, v in attributes.items() if v is not None and not names.is_sensitive(name)}


def _of_level_1(context: Context) -> Context:
    told = trace.get_current_span(context).get_span_context()
    flags = trace.TraceFlags(told.trace_flags & trace.TraceFlags.SAMPLED)
    known = trace.SpanContext(told.trace_id, told.span_id, told.is_remote, flags, told.trace_state)
    return trace.set_span_in_context(trace.NonRecordingSpan(known), context)


class PhaseSpan:
    """A phase under way; facts may be added until it ends."""

    __slots__ = ("_clock", "_span")

    def __init__(self, span: Span, clock: SteadyClock) -> None:
        self._span = span
        self._clock = clock

    def set(self, attributes: Mapping[str, Value | None]) -> None:
        """Add attributes; None and sensitive ones are left out."""
        self._span.set_attributes(kept(attributes))

    def set_kv(self, handoff: KvHandoff) -> None:
        """Add what is known of the hand-off."""
        self._span.set_attributes(handoff.attributes())

    def event(self, name: str) -> None:
        """Note that something happened now (for example `preempted`)."""
        self._span.add_event(name, timestamp=self._clock.now())


class Leg:
    """One process's share of a request: phase spans in the request's trace."""

    def __init__(self, tracer: trace.Tracer, context: Context, request_id: str, attempt: int = 1) -> None:
        self.request_id = request_id
        self.attempt = attempt
        self.clock = SteadyClock()
        self._tracer = tracer
        self._context = context

    @contextmanager
    def phase(
        self, phase: Phase, handoff: KvHandoff | None = None, **attributes: Value
    ) -> Iterator[PhaseSpan]:
        """Time a phase around a block, synchronous or not. An exception marks it failed and goes on."""
        span = self._start(phase, self.clock.now(), handoff, attributes)
        try:
            yield PhaseSpan(span, self.clock)
        except BaseException as error:
            _mark_failed(span, error)
            raise
        finally:
            span.end(self.clock.now())

    def record(
        self,
        phase: Phase,
        start_ns: int,
        end_ns: int,
        handoff: KvHandoff | None = None,
        attributes: Mapping[str, Value | None] | None = None,
    ) -> None:
        """Record a phase that has already been timed (Unix nanoseconds)."""
        self._start(phase, start_ns, handoff, attributes or {}).end(max(start_ns, end_ns))

    def kv_release(self, transfer_id: str, reason: str, at_ns: int | None = None) -> None:
        """Record that published KV was let go. Raises ValueError on an unknown reason."""
        if reason not in names.RELEASE_REASONS:
            raise ValueError(f"release reason {reason!r} is none of {', '.join(names.RELEASE_REASONS)}")
        at = self.clock.now() if at_ns is None else at_ns
        facts = self._identity() | {names.KV_TRANSFER_ID: transfer_id, names.KV_REASON: reason}
        self._tracer.start_span(names.KV_RELEASE_SPAN, self._context, attributes=facts, start_time=at).end(at)

    def outgoing_headers(self) -> dict[str, str]:
        """Headers for the next hop: trace context and request id.

        Of the trace context's flags only the first, sampled, is sent on: routers built on opentelemetry-rust
        take one with a flag of W3C's level 2 for invalid, and begin a trace of their own.
        """
        carrier = {REQUEST_ID_HEADER: self.request_id} if self.request_id else {}
        propagator.inject(carrier, _of_level_1(self._context))
        return carrier

    def _identity(self) -> dict[str, Value]:
        return {names.REQUEST_ID: self.request_id} if self.request_id else {}

    def _start(
        self, phase: Phase, at_ns: int, handoff: KvHandoff | None, attributes: Mapping[str, Value | None]
    ) -> Span:
        facts = self._identity() | {names.PHASE: phase.value}
        if self.attempt != 1:
            facts[names.ATTEMPT] = self.attempt
        facts |= kept(attributes) | (handoff.attributes() if handoff else {})
        name = names.phase_span_name(phase.value)
        return self._tracer.start_span(name, self._context, SpanKind.INTERNAL, facts, start_time=at_ns)


def _mark_failed(span: Span, error: BaseException) -> None:
    span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
    span.set_status(Status(StatusCode.ERROR))
