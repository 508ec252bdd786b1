"""Reads a recorded capture and gives it fresh ids and times, so that it can be streamed again and again."""

import gzip
import hashlib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

CAPTURES = Path(__file__).parent / "captures"

_ID_ATTRIBUTES = re.compile(
    r"(^|[._])request[._]id$|^trace_id$|^parent_id$|^dynamo\.(session|operation)\.id$"
)
_ID_TEXT = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{16}|\d{4}-[0-9a-f]{6}"
)


@dataclass(frozen=True)
class Export:
    """One recorded export: when it was received (nanoseconds after the start) and its body."""

    after_ns: int
    body: bytes


@dataclass(frozen=True)
class Capture:
    """A recording: when it started (Unix nanoseconds) and its exports in order of arrival."""

    name: str
    started_ns: int
    exports: tuple[Export, ...]


def load(name: str) -> Capture:
    """The committed capture of that name ('vllm', 'dynamo')."""
    data = gzip.decompress((CAPTURES / f"{name}.otlp.gz").read_bytes())
    (started,) = struct.unpack_from(">Q", data)
    return Capture(name, started, tuple(_records(data[8:])))


def _records(data: bytes) -> Iterator[Export]:
    at = 0
    while at < len(data):
        after, length = struct.unpack_from(">QI", data, at)
        yield Export(after, data[at + 12 : at + 12 + length])
        at += 12 + length


def renew(body: bytes, shift_ns: int, lap: int) -> bytes:
    """The same export `shift_ns` later, with ids of its own for each lap.

    Ids that were equal stay equal and ids that differed stay different, also where they stand in attributes.
    """
    request = ExportTraceServiceRequest.FromString(body)
    for resource_spans in request.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                span.trace_id = _renew_id(span.trace_id, lap)
                span.span_id = _renew_id(span.span_id, lap)
                if span.parent_span_id:
                    span.parent_span_id = _renew_id(span.parent_span_id, lap)
                span.start_time_unix_nano += shift_ns
                span.end_time_unix_nano += shift_ns
                for event in span.events:
                    event.time_unix_nano += shift_ns
                for attribute in span.attributes:
                    if attribute.value.string_value and _ID_ATTRIBUTES.search(attribute.key):
                        attribute.value.string_value = _renew_text(attribute.value.string_value, lap)
    return request.SerializeToString()


def _renew_id(value: bytes, lap: int) -> bytes:
    return (
        hashlib.blake2b(value, digest_size=len(value), salt=lap.to_bytes(8, "big")).digest()
        if value
        else value
    )


def _renew_text(text: str, lap: int) -> str:
    def fresh(match: re.Match[str]) -> str:
        digits = iter(
            hashlib.blake2b(match[0].encode(), digest_size=32, salt=lap.to_bytes(8, "big")).hexdigest()
        )
        return re.sub(r"[0-9a-f]", lambda _: next(digits), match[0])

    return _ID_TEXT.sub(fresh, text)
