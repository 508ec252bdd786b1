"""A take as instrumented processes export it: native `pd.*` spans and the engines' metrics, over OTLP."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from math import ceil

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from analyzer.demo.scenarios.deployment import ROUTER, Take
from analyzer.demo.scenarios.gauges import Gauges
from analyzer.demo.scenarios.setup import Link, Mode
from analyzer.demo.scenarios.trip import Stay, Trip, Value
from collector import conventions as names

SCOPE = "pdscope.demo"
UP_BEFORE_S = 3 * 3600.0
STATUS = {"ok": 200, "cancelled": 499, "timeout": 504, "error": 500}
FINISH = {"ok": "stop", "cancelled": "abort", "timeout": "abort", "error": "error"}
TENANTS = ("alpha", "beta", "gamma")
CARRIED = {
    "tokens": names.KV_TOKENS,
    "bytes": names.KV_BYTES,
    "descriptors": names.KV_DESCRIPTORS,
    "post_ms": names.KV_POST_MS,
    "status": names.KV_STATUS,
    "already_held": names.KV_TOKENS_ALREADY_HELD,
}


@dataclass(frozen=True)
class Told:
    """A span, the process that exports it, and when it had ended (seconds from the take's start)."""

    at: float
    process: str
    span: Span


@dataclass(frozen=True)
class Stage:
    """Where and when a take is shown: `base_ns` is its start, `salt` makes ids and names its own."""

    take: Take
    model: str
    base_ns: int
    salt: str
    suffix: str = ""
    """Added to the processes' names, so that several takes can be shown in one pdscope."""
    cohort: str = ""
    """Empty: after the way it serves."""

    def stamp(self, at: float) -> int:
        """An instant in Unix nanoseconds."""
        return self.base_ns + round(at * 1e9)

    def instance(self, process: str) -> str:
        """A process's name."""
        return process + self.suffix

    def resource(self, process: str, at: float) -> Resource:
        """The resource of a process, as it was at an instant."""
        pool = process.rsplit("-", 1)[0]
        colocated = self.take.before.mode is Mode.COLOCATED
        replaced = at >= self.take.onset_s and self._restarts(process, pool)
        layout = self.take.after.decode.layout if replaced and pool == "decode" else "HND"
        created = self.take.onset_s - 0.5 if replaced else -UP_BEFORE_S
        values: dict[str, Value] = {
            names.SERVICE_NAME: "pd-router" if pool == "router" else "vllm",
            names.SERVICE_INSTANCE_ID: self.instance(process),
            names.HOST_NAME: f"node-{self.instance(process)}",
            names.POOL: pool,
            names.COHORT: self.cohort or ("colocated" if colocated else "disaggregated"),
            names.PROCESS_CREATION_TIME: _rfc3339(self.stamp(created)),
        }
        if pool != "router":
            values |= {names.GPUS: 1, names.COMPAT_KV_LAYOUT: layout, names.COMPAT_TP: "1"}
            values |= {names.COMPAT_KV_DTYPE: "bfloat16", names.COMPAT_BLOCK_SIZE: "16"}
            values |= {names.COMPAT_MODEL_REVISION: "a1", names.COMPAT_TOKENIZER: "t1", names.COMPAT_PP: "1"}
            values |= {names.COMPAT_CONNECTOR: "nixl", names.COMPAT_CONNECTOR_VERSION: "1.5"}
        return Resource(attributes=_attributes(values))

    def _restarts(self, process: str, pool: str) -> bool:
        return pool in self.take.after.restarts and (pool != "decode" or process == "decode-0")


def spans(stage: Stage) -> list[Told]:
    """Every span of a take, in the order in which they ended."""
    rng = random.Random(stage.salt)
    told = [
        item
        for trip in stage.take.trips
        if trip.ended is not None
        for item in _Trace(stage, trip, rng).told()
    ]
    return sorted(told, key=lambda item: item.at)


def traces_body(stage: Stage, told: Iterable[Told]) -> bytes:
    """One export of spans; processes that were replaced meanwhile have a resource for each life."""
    request = ExportTraceServiceRequest()
    grouped: dict[tuple[str, bool], list[Told]] = defaultdict(list)
    for item in told:
        grouped[item.process, item.at >= stage.take.onset_s].append(item)
    for (process, _), members in grouped.items():
        resource_spans = request.resource_spans.add(resource=stage.resource(process, members[0].at))
        scope_spans = resource_spans.scope_spans.add()
        scope_spans.scope.name = SCOPE
        scope_spans.spans.extend(item.span for item in members)
    return request.SerializeToString()


def metrics_body(stage: Stage, gauges: Gauges) -> bytes:
    """One export of every process's metrics."""
    request = ExportMetricsServiceRequest()
    by_worker = defaultdict(list)
    for reading in gauges.readings:
        by_worker[reading.worker].append(reading)
    for worker, readings in by_worker.items():
        resource_metrics = request.resource_metrics.add(resource=stage.resource(worker, gauges.at))
        scope_metrics = resource_metrics.scope_metrics.add()
        scope_metrics.scope.name = SCOPE
        key = names.MODEL if worker == ROUTER else "model_name"
        for reading in readings:
            metric = scope_metrics.metrics.add(name=reading.name)
            points = metric.sum.data_points if reading.counts else metric.gauge.data_points
            if reading.counts:
                metric.sum.is_monotonic = True
                metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
            point = points.add(time_unix_nano=stage.stamp(gauges.at), as_double=reading.value)
            point.attributes.extend(_attributes({key: stage.model, **dict(reading.labels)}))
            if reading.counts:
                point.start_time_unix_nano = stage.base_ns
    return request.SerializeToString()


class _Trace:
    """The spans of one request."""

    def __init__(self, stage: Stage, trip: Trip, rng: random.Random) -> None:
        self.stage, self.trip, self.rng = stage, trip, rng
        self.trace_id = rng.randbytes(16)
        self.request_id = f"req-{stage.salt}-{trip.number}"

    def told(self) -> list[Told]:
        """The request, its phases, renewed leases and releases."""
        trip = self.trip
        root = self._root()
        out = [Told(trip.ended or 0.0, ROUTER, root)]
        for stay in trip.stays:
            span = self._phase(stay)
            span.parent_span_id = root.span_id
            out.append(Told(stay.end, stay.worker, span))
        for at, worker, attempt, lease in trip.renewals:
            values = {names.PHASE: "kv_publish", **self._hand_off(attempt), **self._lease(lease)}
            out.append(Told(at, worker, self._span("pd.kv_publish", at, at, values)))
        for release in trip.releases:
            values = {names.KV_REASON: release.reason, **self._hand_off(release.attempt)}
            span = self._span(names.KV_RELEASE_SPAN, release.at, release.at, values)
            out.append(Told(release.at, release.worker, span))
        return out

    def _span(self, name: str, start: float, end: float, values: Mapping[str, Value]) -> Span:
        return Span(
            trace_id=self.trace_id, span_id=self.rng.randbytes(8), name=name, kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=self.stage.stamp(start), end_time_unix_nano=self.stage.stamp(end),
            attributes=_attributes({names.REQUEST_ID: self.request_id, **values}),
        )  # fmt: skip

    def _root(self) -> Span:
        trip = self.trip
        values: dict[str, Value] = {
            names.MODEL: self.stage.model,
            names.INPUT_TOKENS: trip.prompt,
            names.OUTPUT_TOKENS: len(trip.tokens) if trip.outcome == "ok" else 0,
            names.CACHED_TOKENS: 0,
            names.TENANT: TENANTS[trip.number % len(TENANTS)],
            names.ROUTE: "/v1/chat/completions",
            names.OUTCOME: trip.outcome,
            names.FINISH_REASON: FINISH[trip.outcome],
            names.HTTP_STATUS: STATUS[trip.outcome],
            names.DEADLINE_UNIX_NANO: self.stage.stamp(
                trip.arrived + self.stage.take.before.router.deadline_s
            ),
            names.ROUTE_REASON: "least loaded",
            names.STREAM_STALLED_MS: trip.stall_s * 1e3 if trip.outcome == "ok" else 0.0,
        }
        if trip.held:
            values[names.CONVERSATION_ID] = f"conv-{self.stage.salt}-{trip.number % 40}"
        values |= _gaps(trip.sent)
        span = self._span(names.REQUEST_SPAN, trip.arrived, trip.ended or 0.0, values)
        span.kind = Span.SPAN_KIND_SERVER
        if trip.sent:
            for event, at in (
                (names.FIRST_TOKEN_EVENT, trip.sent[0]),
                (names.LAST_TOKEN_EVENT, trip.sent[-1]),
            ):
                span.events.add(name=event, time_unix_nano=self.stage.stamp(at))
        if trip.outcome in ("error", "timeout"):
            span.status.code = Status.STATUS_CODE_ERROR
        return span

    def _phase(self, stay: Stay) -> Span:
        values: dict[str, Value] = {names.PHASE: stay.phase}
        if self.trip.attempt > 1:
            values[names.ATTEMPT] = stay.attempt
        values |= self._kv(stay)
        if stay.phase == "decode" and self.trip.local_tokens:
            values |= {
                names.LOCAL_PROMPT_TOKENS: self.trip.local_tokens,
                names.LOCAL_PROMPT_REASON: "recompute",
            }
        span = self._span(names.phase_span_name(stay.phase), stay.start, stay.end, values)
        if stay.phase == "decode":
            for since, until in self.trip.aside:
                for event, at in ((names.PREEMPTED_EVENT, since), (names.RESUMED_EVENT, until)):
                    span.events.add(name=event, time_unix_nano=self.stage.stamp(at))
        return span

    def _kv(self, stay: Stay) -> dict[str, Value]:
        if self.stage.take.before.mode is Mode.COLOCATED:
            return {}
        values: dict[str, Value] = {
            CARRIED[key]: value for key, value in stay.values.items() if key in CARRIED
        }
        if values or stay.phase == "kv_import":
            values |= self._hand_off(stay.attempt)
        if "lease" in stay.values:
            values |= self._lease(float(stay.values["lease"]))
        if stay.phase in ("kv_publish", "kv_transfer"):
            values |= {
                names.KV_CONNECTOR: "nixl",
                names.KV_SOURCE: self.stage.instance(f"prefill-{self.trip.prefill}"),
            }
        if stay.phase == "kv_transfer":
            link = self._link(stay)
            values |= {
                names.KV_DESTINATION: self.stage.instance(stay.worker),
                names.KV_TRANSPORT: link.transport,
                names.KV_LINK_GB_S: link.line_gb_s,
            }
        return values

    def _link(self, stay: Stay) -> Link:
        take = self.stage.take
        return (take.after if stay.start >= take.onset_s else take.before).link

    def _hand_off(self, attempt: int) -> dict[str, Value]:
        return {names.KV_TRANSFER_ID: f"{self.request_id}-{attempt}"}

    def _lease(self, end: float) -> dict[str, Value]:
        return {names.KV_LEASE_EXPIRES_UNIX_NANO: self.stage.stamp(end)}


def _gaps(sent: list[float]) -> dict[str, Value]:
    """p50, p99 (nearest rank) and maximum of the gaps between tokens; nothing without a gap."""
    gaps = sorted(1e3 * (b - a) for a, b in pairwise(sent))
    if not gaps:
        return {}
    p50, p99 = (gaps[ceil(len(gaps) * q) - 1] for q in (0.5, 0.99))
    return {names.ITL_P50_MS: p50, names.ITL_P99_MS: p99, names.ITL_MAX_MS: gaps[-1]}


def _rfc3339(unix_ns: int) -> str:
    text = datetime.fromtimestamp(unix_ns / 1e9, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _attributes(values: Mapping[str, Value]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_any(value)) for key, value in values.items()]


def _any(value: Value) -> AnyValue:
    if isinstance(value, int):
        return AnyValue(int_value=value)
    return AnyValue(double_value=value) if isinstance(value, float) else AnyValue(string_value=value)
