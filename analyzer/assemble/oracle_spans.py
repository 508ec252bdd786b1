"""Spans as plain values, decoded from OTLP exports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as PbSpan


@dataclass(frozen=True)
class Process:
    """Who sent a span: its resource's attributes, as text."""

    attributes: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """An attribute's value, empty when it is missing."""
        return dict(reversed(self.attributes)).get(name, "")

    @property
    def worker(self) -> str:
        """The name it goes by."""
        return self.get("service.instance.id") or self.get("service.name")


@dataclass(frozen=True)
class Span:
    """A received span. Ids are raw bytes, times Unix nanoseconds, attribute values text."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    process: Process
    scope: str
    name: str
    kind: int
    status: int
    start_ns: int
    end_ns: int
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    events: tuple[tuple[str, int], ...] = ()
    """Name, nanoseconds."""
    told: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What the last event of each name says, by 'event:NAME:ATTRIBUTE'."""

    @property
    def identity(self) -> tuple[bytes, bytes, Process]:
        """What makes two deliveries the same span."""
        return self.trace_id, self.span_id, self.process


def read_spans(bodies: Iterable[bytes]) -> list[Span]:
    """Spans of OTLP exports (serialized ExportTraceServiceRequest), deliveries repeated as they came."""
    spans = []
    for body in bodies:
        for of_process in ExportTraceServiceRequest.FromString(body).resource_spans:
            process = Process(tuple((a.key, _text(a.value)) for a in of_process.resource.attributes))
            for of_scope in of_process.scope_spans:
                for s in of_scope.spans:
                    spans.append(
                        Span(
                            s.trace_id, s.span_id, s.parent_span_id, process, of_scope.scope.name, s.name,
                            s.kind, s.status.code, s.start_time_unix_nano, s.end_time_unix_nano,
                            _attributes(s.attributes), tuple((e.name, e.time_unix_nano) for e in s.events),
                            _told(s.events),
                        )
                    )  # fmt: skip
    return spans


def _told(events: Iterable[PbSpan.Event]) -> dict[str, str]:
    return {
        f"event:{event.name}:{name}": value
        for event in events
        for name, value in _attributes(event.attributes).items()
    }


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, str]:
    """Values as text, the first one of a repeated name."""
    found: dict[str, str] = {}
    for pair in pairs:
        found.setdefault(pair.key, _text(pair.value))
    return found


def _text(value: AnyValue) -> str:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return value.string_value
    if kind == "bool_value":
        return "true" if value.bool_value else "false"
    if kind == "int_value":
        return str(value.int_value)
    if kind == "double_value":
        whole = value.double_value.is_integer() and abs(value.double_value) < 1e15
        return str(int(value.double_value)) if whole else repr(value.double_value)
    return ""
