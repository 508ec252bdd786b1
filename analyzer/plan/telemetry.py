"""A simulated run as telemetry of the native convention, so that what reads telemetry can be put to the test.

The spans say what a deployment would have said, and nothing of the constants behind it.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from analyzer.plan.kv_cost import Transfer
from analyzer.plan.lanes import Lanes, lanes
from analyzer.plan.layout import Colocated, Pool
from analyzer.plan.outcome import End, Run
from collector import conventions as names
from collector.phases import Phase

REQUESTS_PER_EXPORT = 200
Value = str | int | float
_ROUTER = (names.POOL_ROUTER, 0)
Worker = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Emission:
    """What a run's telemetry says beside its times: when it began (Unix ns), model, cohort, accelerators."""

    start_ns: int
    model: str
    cohort: str
    accelerators: int


def exports(run: Run, transfer: Transfer, said: Emission) -> Iterator[bytes]:
    """Serialized ExportTraceServiceRequests of `run`, requests in order of arrival."""
    found = lanes(run)
    for begin in range(0, len(run.workload), REQUESTS_PER_EXPORT):
        batch = _Batch(said)
        for request in range(begin, min(begin + REQUESTS_PER_EXPORT, len(run.workload))):
            _request(batch, run, found, transfer, request)
        yield batch.message.SerializeToString()


class _Batch:
    """One export: a block of spans per process."""

    def __init__(self, said: Emission) -> None:
        self.said = said
        self.message = ExportTraceServiceRequest()
        self._blocks: dict[Worker, ScopeSpans] = {}

    def span(
        self, worker: Worker, name: str, trace: bytes, between: tuple[float, float], told: Mapping[str, Value]
    ) -> Span:
        start, end = (self.said.start_ns + round(at * 1e9) for at in between)
        span_id = hashlib.blake2b(trace + name.encode(), digest_size=8).digest()
        kind = Span.SPAN_KIND_SERVER if name == names.REQUEST_SPAN else Span.SPAN_KIND_INTERNAL
        span = self._block(worker).spans.add(
            trace_id=trace, span_id=span_id, name=name, kind=kind,
            start_time_unix_nano=start, end_time_unix_nano=max(start, end),
        )  # fmt: skip
        span.attributes.extend(_attributes(told))
        return span

    def phase(
        self, worker: Worker, phase: Phase, trace: bytes, begin: float, end: float,
        told: Mapping[str, Value] | None = None,
    ) -> None:  # fmt: skip
        if end >= begin:  # nan: never happened
            name = names.phase_span_name(phase)
            attributes = {names.PHASE: str(phase), names.REQUEST_ID: trace.hex(), **(told or {})}
            self.span(worker, name, trace, (begin, end), attributes)

    def _block(self, worker: Worker) -> ScopeSpans:
        if worker not in self._blocks:
            pool, number = worker
            told: dict[str, Value] = {
                names.SERVICE_NAME: f"simulated-{pool}",
                names.SERVICE_INSTANCE_ID: f"{self.said.cohort}-{pool}-{number}",
                names.POOL: pool,
                names.COHORT: self.said.cohort,
            }
            if pool != names.POOL_ROUTER:
                told[names.GPUS] = self.said.accelerators
            block = self.message.resource_spans.add(resource=Resource(attributes=_attributes(told)))
            self._blocks[worker] = block.scope_spans.add()
        return self._blocks[worker]


def _attributes(told: Mapping[str, Value]) -> list[KeyValue]:
    out = []
    for name, value in told.items():
        pair = KeyValue(key=name)
        if isinstance(value, str):
            pair.value.string_value = value
        elif isinstance(value, int):
            pair.value.int_value = value
        else:
            pair.value.double_value = value
        out.append(pair)
    return out


def _request(batch: _Batch, run: Run, at: Lanes, transfer: Transfer, k: int) -> None:
    load, said = run.workload, batch.said
    seed = f"{said.cohort}/{said.start_ns}/{k}".encode()
    trace = hashlib.blake2b(seed, digest_size=16).digest()
    ok = run.end[k] == End.OK
    arrival, first, last = load.arrival_s[k], float(at.first_s[k]), float(at.last_s[k])
    told: dict[str, Value] = {
        names.REQUEST_ID: trace.hex(),
        names.MODEL: said.model,
        names.COHORT: said.cohort,
        names.INPUT_TOKENS: load.prompt[k],
        names.CACHED_TOKENS: load.cached[k],
        names.OUTCOME: names.OUTCOME_OK if ok else names.OUTCOME_ERROR,
    }
    if ok:
        told[names.OUTPUT_TOKENS] = load.output[k]
    span = batch.span(_ROUTER, names.REQUEST_SPAN, trace, (arrival, last if ok else run.end_s), told)
    for name, when in ((names.FIRST_TOKEN_EVENT, first), (names.LAST_TOKEN_EVENT, last)):
        if np.isfinite(when):
            span.events.add(name=name, time_unix_nano=said.start_ns + round(when * 1e9))
    _phases(batch, run, at, transfer, k, trace)


def _phases(batch: _Batch, run: Run, at: Lanes, transfer: Transfer, k: int, trace: bytes) -> None:
    one = isinstance(run.layout, Colocated)
    prompt_at = (str(Pool.COLOCATED if one else Pool.PREFILL), int(at.prefill_worker[k]))
    stream_at = (str(Pool.COLOCATED if one else Pool.DECODE), int(at.decode_worker[k]))
    begun, computed = float(at.prefill_from[k]), float(at.prefill_until[k])
    first, last = float(at.first_s[k]), float(at.last_s[k])
    batch.phase(prompt_at, Phase.PREFILL_QUEUE, trace, run.workload.arrival_s[k], begun)
    batch.phase(prompt_at, Phase.PREFILL_COMPUTE, trace, begun, computed)
    if not one:
        # what is not hidden behind the prefill is exposed; the transfer itself takes its wire time
        tokens = run.workload.prompt[k]
        asked = max(begun, first - transfer.overhead_s - transfer.wire_s(tokens))
        told: dict[str, Value] = {
            names.KV_TRANSFER_ID: trace.hex(),
            names.KV_STATUS: names.KV_OK,
            names.KV_TOKENS: tokens,
            names.KV_BYTES: round(tokens * transfer.bytes_per_token),
        }
        batch.phase(stream_at, Phase.KV_TRANSFER, trace, asked, first, told)
    batch.phase(stream_at, Phase.DECODE, trace, first, last)
