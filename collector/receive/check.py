"""Checks a body whole before it may share a batch, and says which of its spans the store keeps out."""

from collections import Counter
from collections.abc import Mapping

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import BadBody

EARLIEST_NS = 946_684_800_000_000_000
LATEST_NS = 4_102_444_800_000_000_000
"""Spans must start from 2000-01-01 and end before 2100-01-01; as in the store's otlp_spans view."""

REFUSALS = {
    "bad_trace_id": "trace_id is not 16 bytes, or all zero",
    "bad_span_id": "span_id is not 8 bytes, or all zero",
    "bad_start": "start time is before 2000-01-01",
    "bad_end": "end time is before the start time, or after 2099-12-31",
}
"""Why a span is kept out: the store's name for it, and in words."""


def count_spans(message: ExportTraceServiceRequest) -> int:
    """Spans in an export."""
    return sum(len(scope.spans) for resource in message.resource_spans for scope in resource.scope_spans)


def check_traces(body: bytes) -> int:
    """Parse a serialized ExportTraceServiceRequest whole and return its number of spans. Raises BadBody."""
    try:
        return count_spans(ExportTraceServiceRequest.FromString(body))
    except DecodeError as error:
        raise BadBody(
            f"the body ({len(body)} bytes) is not an OTLP ExportTraceServiceRequest: {_cause(error)}; "
            "it is cut short, is another message, nests too deeply, or has text that is not UTF-8. "
            "Nothing of it was stored"
        ) from error


def refused_spans(body: bytes) -> Mapping[str, int]:
    """How many spans of a body that parses the store keeps out, by reason; each span counts once."""
    message = ExportTraceServiceRequest.FromString(body)
    reasons = (
        _refusal(span)
        for resource in message.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    )
    return dict(Counter(reason for reason in reasons if reason))


def _refusal(span: Span) -> str | None:
    if len(span.trace_id) != 16 or not any(span.trace_id):
        return "bad_trace_id"
    if len(span.span_id) != 8 or not any(span.span_id):
        return "bad_span_id"
    if span.start_time_unix_nano < EARLIEST_NS:
        return "bad_start"
    if span.end_time_unix_nano < span.start_time_unix_nano or span.end_time_unix_nano >= LATEST_NS:
        return "bad_end"
    return None


def _cause(error: DecodeError) -> str:
    return str(error).strip().split("\n")[0][:200]
