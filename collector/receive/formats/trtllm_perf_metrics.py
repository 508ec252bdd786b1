"""TensorRT-LLM's `/perf_metrics` records of disaggregated requests as OTLP spans.

One trace a record: the request as the proxy timed it, and below it what either server did. Ids come from
the record, so that importing twice changes nothing. The servers tell times in seconds on the proxy's
steady clock; an answer that was kept as `{"polled_unix_s": …, "polled_steady_s": …, "perf_metrics": […]}`
says what time that was.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import BadBody
from collector.receive.check import EARLIEST_NS, LATEST_NS

FORMAT = "TensorRT-LLM perf metrics"
SPAN_NAME = "trtllm.perf_metrics"
_LEGS = ("ctx_perf_metrics", "gen_perf_metrics")
_ENVELOPE = ("polled_unix_s", "polled_steady_s", "perf_metrics")


def is_perf_metrics(document: Any) -> bool:
    """Whether a parsed JSON document is a record, a list of them, or an answer with the time it was given."""
    if isinstance(document, list):
        return bool(document) and is_perf_metrics(document[0])
    return isinstance(document, dict) and (
        "gen_perf_metrics" in document or isinstance(document.get("perf_metrics"), list)
    )


def records(document: Any) -> Iterator[tuple[Any, float]]:
    """(record, seconds from its times to Unix time) of whatever form the document has. Raises BadBody."""
    if isinstance(document, list):
        yield from ((record, 0.0) for record in document)
    elif isinstance(document.get("perf_metrics"), list):
        unix, steady, found = (document.get(name) for name in _ENVELOPE)
        if not isinstance(unix, int | float) or not isinstance(steady, int | float):
            raise BadBody(f"perf metrics with no number in {_ENVELOPE[0]} and {_ENVELOPE[1]}")
        yield from ((record, unix - steady) for record in found)
    else:
        yield document, 0.0


def body(record: Any, offset_s: float) -> tuple[bytes, int]:
    """One record as a serialized ExportTraceServiceRequest, and how many spans that holds. Raises BadBody."""
    return _Trace(record, offset_s).body()


def latest(record: Any) -> float:
    """The latest instant a record tells, in its own seconds; 0 when it tells none."""
    if not isinstance(record, dict):
        return 0.0
    told = [record.get("disagg_server_first_token_time")]
    told += [
        _timing(record.get(leg)).get(name)
        for leg in _LEGS
        for name in ("last_token_time", "first_token_time")
    ]
    return max(
        (float(at) for at in told if isinstance(at, int | float) and not isinstance(at, bool)), default=0.0
    )


@dataclass
class _Times:
    """A record's instants, Unix nanoseconds; 0 where one is not told."""

    holder: dict[str, Any]
    offset_s: float

    def at(self, name: str) -> int:
        seconds = self.holder.get(name)
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds > 0:
            return 0
        ns = round((seconds + self.offset_s) * 1e9)
        if not EARLIEST_NS <= ns < LATEST_NS:
            raise BadBody(
                f"perf metrics with {name} {seconds:.10g}, which is no Unix time: keep the answer as "
                "{polled_unix_s, polled_steady_s, perf_metrics}, with both clocks read when it was polled"
            )
        return ns


class _Trace:
    """The spans of one record."""

    def __init__(self, record: Any, offset_s: float):
        if not isinstance(record, dict):
            raise BadBody("perf metrics record that is no JSON object")
        self._record = record
        self._proxy = _Times(record, offset_s)
        self._ctx, self._gen = (_Times(_timing(record.get(leg)), offset_s) for leg in _LEGS)
        self._id = next((str(i) for leg in _LEGS if (i := (record.get(leg) or {}).get("ctx_request_id"))), "")
        if not self._id:
            raise BadBody("perf metrics record without a ctx_request_id")
        self._start = self._proxy.at("disagg_server_arrival_time")
        if not self._start:
            raise BadBody("perf metrics record without a disagg_server_arrival_time")
        key = f"{self._id}:{record.get('ctx_server')}:{record.get('disagg_server_arrival_time')}"
        self._trace_id = hashlib.sha256(f"{SPAN_NAME}:{key}".encode("utf-8", "replace")).digest()[:16]
        self._spans = 0

    def body(self) -> tuple[bytes, int]:
        export = ExportTraceServiceRequest()
        first = self._proxy.at("disagg_server_first_token_time")
        end = self._gen.at("last_token_time") or first
        self._add(export, "trtllm-disagg", "", "", self._start, max(end, first), (("first_token", first),))
        self._leg(export, "ctx", self._ctx, self._ctx.at("first_token_time"))
        self._leg(export, "gen", self._gen, end)
        moved = self._gen.at("kv_cache_transfer_start"), self._gen.at("kv_cache_transfer_end")
        waited = [self._gen.at("arrival_time"), *moved, self._gen.at("first_scheduled_time")]
        self._add(export, "trtllm-gen", "gen_server", ".kv_transfer", *moved)
        # What it waited before and after the transfer, or altogether.
        for start, stop in zip(waited[::2], waited[1::2], strict=True) if all(moved) else [waited[::3]]:
            self._add(export, "trtllm-gen", "gen_server", ".gen_queue", start, stop)
        return export.SerializeToString(), self._spans

    def _leg(self, export: ExportTraceServiceRequest, side: str, times: _Times, end: int) -> None:
        events = tuple((name, times.at(f"{name}_time")) for name in ("first_scheduled", "first_token"))
        self._add(
            export, f"trtllm-{side}", f"{side}_server", f".{side}", times.at("arrival_time"), end, events
        )

    def _add(
        self,
        export: ExportTraceServiceRequest,
        service: str,
        server: str,
        suffix: str,
        start: int,
        end: int,
        events: tuple[tuple[str, int], ...] = (),
    ) -> None:
        """Add a span unless its start or end is not told."""
        if not 0 < start <= end:
            return
        self._spans += 1
        resource = export.resource_spans.add()
        resource.resource.attributes.append(_text("service.name", service))
        instance = self._record.get(server) if server else None
        if isinstance(instance, str):
            resource.resource.attributes.append(_text("service.instance.id", instance))
        told = {"trtllm.ctx_request_id": self._id} | {
            f"trtllm.{name}": self._record[name]
            for name in ("ctx_server", "gen_server", "status")
            if isinstance(self._record.get(name), str)
        }
        attributes = [_text(name, value) for name, value in told.items()]
        size = self._gen.holder.get("kv_cache_size")
        if suffix == ".kv_transfer" and isinstance(size, int):
            attributes.append(_text("trtllm.kv_cache_size", str(size)))
        span_id = hashlib.sha256(self._trace_id + f"{suffix}:{start}".encode()).digest()[:8]
        resource.scope_spans.add().spans.append(
            Span(
                trace_id=self._trace_id,
                span_id=span_id,
                name=f"{SPAN_NAME}{suffix}",
                kind=Span.SPAN_KIND_SERVER,
                start_time_unix_nano=start,
                end_time_unix_nano=end,
                attributes=attributes,
                events=[Span.Event(name=name, time_unix_nano=ns) for name, ns in events if ns],
            )
        )


def _timing(leg: Any) -> dict[str, Any]:
    """The leg's timing metrics, however deep a version keeps them."""
    found = leg if isinstance(leg, dict) else {}
    for name in ("perf_metrics", "timing_metrics"):
        found = found[name] if isinstance(found.get(name), dict) else found
    return found


def _text(key: str, value: str) -> KeyValue:
    attribute = KeyValue(key=key)
    attribute.value.string_value = value
    return attribute
