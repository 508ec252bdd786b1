"""Checks a body whole before it may share a batch, and says which of its spans the store keeps out."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.conventions import TENANT, is_sensitive
from collector.errors import BadBody
from collector.receive.errors import BodyTooLarge

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


@dataclass(frozen=True)
class Rules:
    """What is done to every body beside parsing it."""

    max_items: int = 100_000
    """Most spans or points in one body."""
    scrub: bool = False
    """Take the values of private attributes out, at the price of looking at every span."""


class _HasResource(Protocol):
    @property
    def resource(self) -> Resource: ...


def count_spans(message: ExportTraceServiceRequest) -> int:
    """Spans in an export."""
    return sum(len(scope.spans) for resource in message.resource_spans for scope in resource.scope_spans)


def check_traces(body: bytes, tenant: str | None = None, rules: Rules | None = None) -> tuple[bytes, int]:
    """Parse a serialized ExportTraceServiceRequest whole; return it, stamped with the tenant, and its spans.

    Raises BadBody, BodyTooLarge (more spans than `rules` let pass).
    """
    rules = rules or Rules()
    try:
        message = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise _not_otlp(body, "ExportTraceServiceRequest", error) from error
    spans = _limited(count_spans(message), "spans", rules)
    if rules.scrub:
        _scrub_traces(message)
    _stamp(message.resource_spans, tenant)
    return (message.SerializeToString() if rules.scrub or tenant else body), spans


def check_metrics(body: bytes, tenant: str | None = None, rules: Rules | None = None) -> tuple[bytes, int]:
    """As `check_traces`, for a serialized ExportMetricsServiceRequest and its points."""
    rules = rules or Rules()
    try:
        message = ExportMetricsServiceRequest.FromString(body)
    except DecodeError as error:
        raise _not_otlp(body, "ExportMetricsServiceRequest", error) from error
    points = _limited(
        sum(
            _points(metric)
            for resource in message.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        ),
        "points",
        rules,
    )
    if rules.scrub:
        _scrub_metrics(message)
    _stamp(message.resource_metrics, tenant)
    return (message.SerializeToString() if rules.scrub or tenant else body), points


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


def _stamp(resources: Iterable[_HasResource], tenant: str | None) -> None:
    """A token's tenant replaces whatever the sender says it is."""
    if tenant is None:
        return
    for sent in resources:
        attributes = sent.resource.attributes
        for place in reversed(range(len(attributes))):
            if attributes[place].key == TENANT:
                del attributes[place]
        stamp = KeyValue(key=TENANT)
        stamp.value.string_value = tenant
        attributes.append(stamp)


def _scrub_traces(message: ExportTraceServiceRequest) -> None:
    for resource in message.resource_spans:
        _scrub(resource.resource.attributes)
        for scope in resource.scope_spans:
            for span in scope.spans:
                _scrub(span.attributes)
                for event in span.events:
                    _scrub(event.attributes)
                for link in span.links:
                    _scrub(link.attributes)


def _scrub_metrics(message: ExportMetricsServiceRequest) -> None:
    for resource in message.resource_metrics:
        _scrub(resource.resource.attributes)
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                which = metric.WhichOneof("data")
                for point in getattr(metric, which).data_points if which else ():
                    _scrub(point.attributes)
                    if which in ("gauge", "sum", "histogram", "exponential_histogram"):
                        del point.exemplars[:]


def _scrub(attributes: Any) -> None:
    if any(is_sensitive(attribute.key) for attribute in attributes):
        kept = [attribute for attribute in attributes if not is_sensitive(attribute.key)]
        del attributes[:]
        attributes.extend(kept)


def _points(metric: Metric) -> int:
    which = metric.WhichOneof("data")
    return len(getattr(metric, which).data_points) if which else 0


def _limited(items: int, what: str, rules: Rules) -> int:
    if items > rules.max_items:
        raise BodyTooLarge(
            f"the body holds {items:,} {what}, the limit of this pdscope is {rules.max_items:,} "
            "(otlp_max_items); send smaller batches"
        )
    return items


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


def _not_otlp(body: bytes, what: str, error: DecodeError) -> BadBody:
    return BadBody(
        f"the body ({len(body)} bytes) is not an OTLP {what}: {str(error).strip().split(chr(10))[0][:200]}; "
        "it is cut short, is another message, nests too deeply, or has text that is not UTF-8. "
        "Nothing of it was stored"
    )
