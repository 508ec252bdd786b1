"""pdscope's own spans: sampled, and stored like everyone else's, under service.name pdscope."""

import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind, Tracer
from opentelemetry.util.types import AttributeValue

from collector.errors import CollectorError
from collector.version import own_version

Submit = Callable[[bytes, int], object]
"""Takes a serialized export and its number of spans; raises CollectorError when it cannot."""


class SampledTracer:
    """Makes a span of some operations only; the others cost next to nothing."""

    def __init__(self, tracer: Tracer, ratio: float):
        self._tracer = tracer
        self._ratio = ratio

    def span(
        self,
        name: str,
        attributes: Callable[[], Mapping[str, AttributeValue]],
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> AbstractContextManager[object]:
        """A span around a block, or nothing; `attributes` is only called when there is one."""
        if random.random() >= self._ratio:
            return nullcontext()
        return self._tracer.start_as_current_span(name, kind=kind, attributes=attributes())


class OwnSpans:
    """Tracers whose spans go to whatever `send_to` names; before that, and when refused, they are dropped."""

    def __init__(self, ratio: float):
        """Sample `ratio` (0 to 1) of traces."""
        self._exporter = _Exporter()
        resource = Resource(
            {
                "service.name": "pdscope",
                "service.version": own_version(),
                "service.instance.id": str(uuid.uuid4()),
            }
        )
        self._ratio = ratio
        self._provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))

    def tracer(self, name: str) -> "SampledTracer":
        """A tracer for one part of pdscope."""
        return SampledTracer(self._provider.get_tracer(name), self._ratio)

    def send_to(self, submit: Submit) -> None:
        """Send finished spans to `submit` from now on."""
        self._exporter.submit = submit

    def flush(self) -> None:
        """Send what waits now."""
        self._provider.force_flush()

    def close(self) -> None:
        """Send what waits and stop."""
        self._provider.shutdown()


class _Exporter(SpanExporter):
    submit: Submit | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.submit is None:
            return SpanExportResult.FAILURE
        try:
            self.submit(encode_spans(spans).SerializeToString(), len(spans))
        except CollectorError:
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS
