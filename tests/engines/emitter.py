"""Spans made and encoded by the OpenTelemetry SDK, in the shape that a system's source says it emits."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from collector.phases import TTFT_PARTS

T0 = 1_790_000_000 * 10**9
MS = 10**6


class _Kept(SpanProcessor):
    """Keeps every ended span."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


class Emitter:
    """Processes of one deployment that all export; times are milliseconds after T0."""

    def __init__(self) -> None:
        self._kept = _Kept()
        self._providers: dict[str, TracerProvider] = {}

    def span(
        self,
        process: str,
        name: str,
        start: float,
        end: float,
        attributes: Mapping[str, object] | None = None,
        *,
        parent: SpanContext | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        events: Sequence[tuple[str, float, Mapping[str, object]]] = (),
        error: bool = False,
        scope: str = "app",
        instance: str = "",
    ) -> SpanContext:
        """Emit one span and return its context, for its children. process: the service.name."""
        tracer = self._provider(process, instance).get_tracer(scope)
        context = trace.set_span_in_context(NonRecordingSpan(parent)) if parent else trace.Context()
        span = tracer.start_span(
            name, context, kind=kind, attributes=dict(attributes or {}), start_time=T0 + round(start * MS)
        )
        for event, at, said in events:
            span.add_event(event, said, timestamp=T0 + round(at * MS))
        if error:
            span.set_status(Status(StatusCode.ERROR))
        span.end(T0 + round(end * MS))
        return span.get_span_context()

    def body(self) -> bytes:
        """Everything emitted so far, as one OTLP export."""
        return encode_spans(self._kept.spans).SerializeToString()

    def _provider(self, process: str, instance: str) -> TracerProvider:
        name = f"{process}/{instance}"
        if name not in self._providers:
            attributes = {"service.name": process, **({"service.instance.id": instance} if instance else {})}
            provider = TracerProvider(resource=Resource(attributes), shutdown_on_exit=False)
            provider.add_span_processor(self._kept)
            self._providers[name] = provider
        return self._providers[name]


def caller(number: int) -> SpanContext:
    """A client's own traceparent."""
    return SpanContext(0xC11E << 64 | number, 0xC0 + number, True, TraceFlags(1))


def at_ms(ns: object) -> float:
    """A stored instant as milliseconds after T0."""
    with suppress(TypeError):
        return (int(str(ns)) - T0) / MS
    raise AssertionError(f"no instant: {ns!r}")


def exposed(row: Mapping[str, object]) -> dict[str, float]:
    """Exposed time before the first token by part, milliseconds, without empty parts."""
    parts = zip(TTFT_PARTS, row["exposed_ns"], strict=True)
    return {part: ns / MS for part, ns in parts if ns}
