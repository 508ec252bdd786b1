"""Small OTLP trace exports for tests."""

import itertools
import os
from collections.abc import Callable

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

START = 1_790_000_000_000_000_000
_names = itertools.count()


def unique_name() -> str:
    """A span name that no other test uses."""
    return f"span-{os.getpid()}-{next(_names)}"


def export(
    name: str, spans: int = 1, change: Callable[[Span], object] = lambda span: None
) -> ExportTraceServiceRequest:
    """An export of `spans` spans called `name`; `change` is applied to the first one."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    service = resource.resource.attributes.add()
    service.key = "service.name"
    service.value.string_value = "tests"
    scope = resource.scope_spans.add()
    for index in range(spans):
        span = scope.spans.add(
            trace_id=os.urandom(15) + b"\1",
            span_id=os.urandom(7) + b"\1",
            name=name,
            kind=Span.SPAN_KIND_SERVER,
            start_time_unix_nano=START + index,
            end_time_unix_nano=START + index + 1_000_000,
        )
        attribute = span.attributes.add()
        attribute.key = "index"
        attribute.value.int_value = index
        if index == 0:
            change(span)
    return request


def body(name: str, spans: int = 1, change: Callable[[Span], object] = lambda span: None) -> bytes:
    """The same, serialized."""
    return export(name, spans, change).SerializeToString()
