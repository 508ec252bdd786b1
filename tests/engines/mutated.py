"""Captures as other deployments of the same systems would have sent them: other names, ids and order."""

import hashlib
import random
import re
from collections.abc import Iterable, Iterator

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_ADDRESS = re.compile(r"(127\.0\.0\.1|localhost|0\.0\.0\.0):(\d{2,5})")
_WORKER = re.compile(r"(?<![0-9])\d{17,20}(?![0-9])")
_NAMES = ("service.name", "service.instance.id", "host.name", "k8s.pod.name")
_TIMES = ("unix_nano", "_ns", "timestamp")


def _digest(what: str, length: int) -> bytes:
    return hashlib.sha256(what.encode()).digest()[:length]


def renamed(export: ExportTraceServiceRequest) -> None:
    """Other service names that tell no role, other hosts and ports, other worker ids: the same for each."""
    for resource in export.resource_spans:
        for attribute in resource.resource.attributes:
            if attribute.key in _NAMES:
                named = attribute.value.string_value
                attribute.value.string_value = f"svc-{_digest(named, 4).hex()}"
            else:
                _rename(attribute)
        for scope in resource.scope_spans:
            for span in scope.spans:
                for attribute in [*span.attributes, *(a for event in span.events for a in event.attributes)]:
                    _rename(attribute)


def _rename(attribute: object) -> None:
    if attribute.value.WhichOneof("value") != "string_value" or attribute.key.endswith(_TIMES):
        return
    said = _ADDRESS.sub(lambda found: f"10.7.0.9:{10_000 + int(found[2])}", attribute.value.string_value)
    if "worker" in attribute.key or "instance" in attribute.key:
        said = _WORKER.sub(lambda found: str(2**63 + int.from_bytes(_digest(found[0], 4))), said)
    attribute.value.string_value = said


def reidentified(spans: Iterable[Span], salt: str) -> None:
    """Other trace and span ids, the same for the same."""
    for span in spans:
        span.trace_id = _digest(f"{salt}{span.trace_id.hex()}", 16)
        span.span_id = _digest(f"{salt}{span.span_id.hex()}", 8)
        if span.parent_span_id:
            span.parent_span_id = _digest(f"{salt}{span.parent_span_id.hex()}", 8)
        for link in span.links:
            link.trace_id = _digest(f"{salt}{link.trace_id.hex()}", 16)
            link.span_id = _digest(f"{salt}{link.span_id.hex()}", 8)


def spans_of(export: ExportTraceServiceRequest) -> Iterator[Span]:
    for resource in export.resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans


def mutated(exports: Iterable[bytes], seed: int, copies: float = 0.2) -> list[bytes]:
    """The exports of another deployment: renamed, with other ids, shuffled, some sent twice."""
    found = []
    for body in exports:
        export = ExportTraceServiceRequest.FromString(body)
        renamed(export)
        reidentified(spans_of(export), str(seed))
        found.append(export.SerializeToString())
    rng = random.Random(seed)
    again = [body for body in found if rng.random() < copies]
    shuffled = [*found, *again]
    rng.shuffle(shuffled)
    return shuffled


def without(exports: Iterable[bytes], service: str) -> list[bytes]:
    """What arrives when one process dies with all that it had not sent."""
    found = []
    for body in exports:
        export = ExportTraceServiceRequest.FromString(body)
        kept = [resource for resource in export.resource_spans if _service(resource) != service]
        del export.resource_spans[:]
        export.resource_spans.extend(kept)
        found.append(export.SerializeToString())
    return found


def skewed(exports: Iterable[bytes], service: str, by_ns: int) -> list[bytes]:
    """What arrives when one process's clock is off."""
    found = []
    for body in exports:
        export = ExportTraceServiceRequest.FromString(body)
        for resource in export.resource_spans:
            if _service(resource) == service:
                for span in (span for scope in resource.scope_spans for span in scope.spans):
                    span.start_time_unix_nano += by_ns
                    span.end_time_unix_nano += by_ns
                    for event in span.events:
                        event.time_unix_nano += by_ns
        found.append(export.SerializeToString())
    return found


def services(exports: Iterable[bytes]) -> list[str]:
    """Names of the processes that sent these."""
    return sorted(
        {
            _service(one)
            for body in exports
            for one in ExportTraceServiceRequest.FromString(body).resource_spans
        }
    )


def _service(resource: object) -> str:
    named = {one.key: one.value.string_value for one in resource.resource.attributes}
    return named.get("service.name", "")
