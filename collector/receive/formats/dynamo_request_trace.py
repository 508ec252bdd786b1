"""Dynamo's request-trace records (`dynamo.request.trace.v1`) as OTLP spans.

One span a request, named `dynamo.request.trace`, in service `dynamo-request-trace`. Ids come from the request
id, so that importing twice changes nothing. The replay hashes, which tell what was asked, are left out.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import BadBody

__all__ = ["FORMAT", "SERVICE", "SPAN_NAME", "Span", "body", "is_request_trace", "span"]

FORMAT = "Dynamo request trace"
SCHEMA = "dynamo.request.trace.v1"
SERVICE = "dynamo-request-trace"
SPAN_NAME = "dynamo.request.trace"
_NUMBERS = (
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "prefill_wait_time_ms",
    "prefill_time_ms",
    "ttft_ms",
    "total_time_ms",
    "avg_itl_ms",
    "kv_hit_rate",
    "kv_transfer_estimated_latency_ms",
    "queue_depth",
)
_WORKERS = ("prefill_worker_id", "decode_worker_id")


def is_request_trace(document: Any) -> bool:
    """Whether a parsed JSON line is a record of this schema."""
    event = document.get("event") if isinstance(document, dict) else None
    return isinstance(event, dict) and event.get("schema") == SCHEMA


def span(document: Any) -> Span:
    """The span of one record. Raises BadBody naming what is missing."""
    event = document["event"]
    if event.get("event_type") != "request_end":
        raise BadBody(f"request-trace event {event.get('event_type')!r:.60}, only request_end is read")
    request = event.get("request")
    if (
        not isinstance(request, dict)
        or not isinstance(request.get("request_id"), str)
        or not request["request_id"]
    ):
        raise BadBody("request trace without a request_id")
    request_id = request["request_id"]
    ids = hashlib.sha256(f"{SCHEMA}:{request_id}".encode("utf-8", "replace")).digest()
    return Span(
        trace_id=ids[:16],
        span_id=ids[16:24],
        name=SPAN_NAME,
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=_nanoseconds(request, "request_received_ms"),
        end_time_unix_nano=_nanoseconds(event, "event_time_unix_ms"),
        attributes=_attributes(request, request_id),
    )


def body(spans: Sequence[Span]) -> bytes:
    """Spans as one serialized ExportTraceServiceRequest."""
    export = ExportTraceServiceRequest()
    resource = export.resource_spans.add()
    resource.resource.attributes.append(_text("service.name", SERVICE))
    scope = resource.scope_spans.add()
    scope.scope.name = SCHEMA
    scope.spans.extend(spans)
    return export.SerializeToString()


def _attributes(request: dict[str, Any], request_id: str) -> list[KeyValue]:
    attributes = [_text("dynamo.trace.request_id", request_id)]
    if isinstance(client_id := request.get("x_request_id"), str):
        attributes.append(_text("dynamo.trace.x_request_id", client_id))
    for field in _NUMBERS:
        attribute = KeyValue(key=f"dynamo.trace.{field}")
        number = request.get(field)
        if isinstance(number, float):
            attribute.value.double_value = number
        elif isinstance(number, int) and not isinstance(number, bool) and abs(number) < 2**63:
            attribute.value.int_value = number
        else:
            continue
        attributes.append(attribute)
    workers = request.get("worker")
    for field in _WORKERS:
        # Above 2^53, some above 2^63: kept as text.
        if isinstance(workers, dict) and isinstance(worker := workers.get(field), int):
            attributes.append(_text(f"dynamo.trace.{field}", str(worker)))
    return attributes


def _text(key: str, value: str) -> KeyValue:
    attribute = KeyValue(key=key)
    attribute.value.string_value = value
    return attribute


def _nanoseconds(holder: dict[str, Any], field: str) -> int:
    milliseconds = holder.get(field)
    if not isinstance(milliseconds, int | float) or not 0 < milliseconds < 4_102_444_800_000:
        raise BadBody(
            f"request trace without a time in {field}",
        )
    return round(milliseconds * 1_000_000)
