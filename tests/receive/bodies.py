"""Small OTLP trace exports for tests."""

import base64
import itertools
import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from google.protobuf.json_format import MessageToDict
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


def hex_json(body: bytes) -> dict[str, Any]:
    """An export as OTLP/JSON has it: ids in hexadecimal."""
    message: dict[str, Any] = MessageToDict(ExportTraceServiceRequest.FromString(body))
    for resource in message["resourceSpans"]:
        for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
            for field in {"traceId", "spanId", "parentSpanId"} & span.keys():
                span[field] = base64.b64decode(span[field]).hex()
    return message


def json_lines(bodies: Iterable[bytes]) -> bytes:
    """A line of OTLP/JSON for each export, as the OpenTelemetry Collector's file exporter writes."""
    return b"".join(json.dumps(hex_json(body)).encode() + b"\n" for body in bodies)
