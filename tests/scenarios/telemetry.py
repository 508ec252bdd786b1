"""A scenario as an instrumented deployment would export it: native pd.* spans under the right resources."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from .life import Interval, Life
from .metrics import metric_exports
from .otlp import SCOPE, Export, Scalar, attributes
from .processes import Stage
from .spec import NS, Mode
from .stream import ROUTER, token_times

BATCH = 500
STATUS = {"ok": 200, "cancelled": 499, "timeout": 504, "error": 500}
FINISH = {"ok": "stop", "cancelled": "abort", "timeout": "abort", "error": "error"}
TENANTS = ("alpha", "beta", "gamma")
HISTORY_GAP = 120 * NS
CARRIED = {
    "tokens": "pd.kv.tokens",
    "bytes": "pd.kv.bytes",
    "descriptors": "pd.kv.descriptors",
    "wait_ms": "pd.kv.wait_ms",
    "post_ms": "pd.kv.post_ms",
    "status": "pd.kv.status",
    "tokens_already_held": "pd.kv.tokens_already_held",
}


class Ready(NamedTuple):
    """A span with the process that exports it and when it has ended (true time)."""

    ended: int
    process: str
    span: Span


def exports(stage: Stage) -> list[Export]:
    """Everything to send, in the order in which it would arrive."""
    spans = _history(stage) + _spans(stage, stage.scenario.run.lives, "r")
    traces = [_batch(stage, spans[i : i + BATCH]) for i in range(0, len(spans), BATCH)]
    return traces + metric_exports(stage)


def window(stage: Stage) -> tuple[int, int]:
    """[from, to] of the scenario in Unix ns; history lies before it."""
    return stage.base - NS, stage.base + stage.scenario.run.end + NS


def request_id(stage: Stage, index: int) -> str:
    """The id of a request of the window."""
    return f"r{index}-{stage.salt}"


def _history(stage: Stage) -> list[Ready]:
    """The first requests of the run without faults, long before the window: what healthy looks like here."""
    if not stage.scenario.history:
        return []
    lives = stage.scenario.truth.runs[frozenset()].lives[: stage.scenario.history]
    last = max(life.ended or 0 for life in lives)
    earlier = replace(stage, base=stage.base - HISTORY_GAP - last, epoch=stage.base)
    return _spans(earlier, lives, "h")


def _spans(stage: Stage, lives: list[Life], prefix: str) -> list[Ready]:
    # a scenario that is shown again, less a signal, is other requests: no trace of the first may be its own
    rng = np.random.default_rng(
        [stage.scenario.seed, stage.scenario.index, *f"{prefix}{stage.salt}".encode()]
    )
    out: list[Ready] = []
    for life in lives:
        out += _Trace(stage, life, f"{prefix}{life.ask.index}-{stage.salt}", rng.bytes(16), rng).spans()
    return sorted(out, key=lambda ready: ready.ended)


def _batch(stage: Stage, spans: list[Ready]) -> Export:
    request = ExportTraceServiceRequest()
    by_process: dict[str, list[Span]] = defaultdict(list)
    for ready in spans:
        by_process[ready.process].append(ready.span)
    for process, of_process in by_process.items():
        resource_spans = request.resource_spans.add(resource=stage.resource(process))
        scope = resource_spans.scope_spans.add()
        scope.scope.name = SCOPE
        scope.spans.extend(of_process)
    return Export("traces", request.SerializeToString(deterministic=True), len(spans))


class _Trace:
    """The spans of one request."""

    def __init__(self, stage: Stage, life: Life, rid: str, trace_id: bytes, rng: np.random.Generator) -> None:
        self.stage, self.life, self.rid, self.trace_id = stage, life, rid, trace_id
        self._ids = rng.bytes(8 * (len(life.intervals) + len(life.releases) + len(life.renewals) + 1))
        self._used = 0

    def _span_id(self) -> bytes:
        self._used += 8
        return self._ids[self._used - 8 : self._used]

    def spans(self) -> list[Ready]:
        """Root first, then phases, renewals and releases."""
        root, root_id = self._root()
        out = [Ready(self.life.ended or 0, ROUTER, root)]
        for interval in self.life.intervals:
            out.append(Ready(interval.end, interval.worker, self._phase(interval, root_id)))
        out += [self._renewal(at, worker, n, expires) for at, worker, n, expires in self.life.renewals]
        out += [self._release(at, worker, n, reason) for at, worker, n, reason in self.life.releases]
        return out

    def _span(self, name: str, worker: str, start: int, end: int, values: dict[str, Scalar]) -> Span:
        return Span(
            trace_id=self.trace_id,
            span_id=self._span_id(),
            name=name,
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=self.stage.stamp(worker, start),
            end_time_unix_nano=self.stage.stamp(worker, end),
            attributes=attributes({"pd.request.id": self.rid, **values}),
        )

    def _root(self) -> tuple[Span, bytes]:
        life, ended = self.life, self.life.ended
        if ended is None:
            raise RuntimeError(f"{self.rid} never ended")
        span = self._span("pd.request", ROUTER, life.ask.arrival, ended, self._request())
        span.kind = Span.SPAN_KIND_SERVER
        for name, at in (("first_token", life.sent_first), ("last_token", life.sent_last)):
            if at is not None:
                span.events.add(name=name, time_unix_nano=self.stage.stamp(ROUTER, at))
        if life.outcome in ("error", "timeout"):
            span.status.code = Status.STATUS_CODE_ERROR
        return span, span.span_id

    def _request(self) -> dict[str, Scalar]:
        life, ask = self.life, self.life.ask
        values: dict[str, Scalar] = {
            "gen_ai.request.model": self.stage.model,
            "gen_ai.usage.input_tokens": ask.prompt,
            "gen_ai.usage.output_tokens": ask.output if life.outcome == "ok" else 0,
            "pd.cached_tokens": ask.cached,
            "pd.tenant": TENANTS[int(ask.draws.tenant * len(TENANTS))],
            "pd.route": "/v1/chat/completions",
            "pd.outcome": life.outcome,
            "pd.finish_reason": FINISH[life.outcome],
            "http.response.status_code": STATUS[life.outcome],
            "pd.stream.stalled_ms": life.stalled_ns / 1e6,
        }
        if ask.held:
            values["gen_ai.conversation.id"] = f"c{ask.index % 40}-{self.stage.salt}"
        if life.outcome == "ok":
            values["pd.first_token_by"] = "decode"
            values |= self._gaps()
        return values

    def _gaps(self) -> dict[str, Scalar]:
        """Gaps between chunks, where nothing but the reader comes between sampling and sending."""
        if self.stage.scenario.run.spec.router.egress_token_s > 0 or self.life.ask.output < 3:
            return {}
        gaps = np.sort(np.diff(token_times(self.life.steps))) / 1e6
        p50, p99 = float(gaps[len(gaps) // 2]), float(gaps[min(len(gaps) - 1, int(0.99 * len(gaps)))])
        longest = max(float(gaps[-1]), self.life.stalled_ns / 1e6)
        return {"pd.itl.p50_ms": p50, "pd.itl.p99_ms": p99, "pd.itl.max_ms": longest}

    def _phase(self, interval: Interval, root_id: bytes) -> Span:
        values: dict[str, Scalar] = {"pd.phase": interval.phase}
        if len(self.life.dispatches) > 1:
            values["pd.attempt"] = interval.attempt
        values |= self._kv(interval)
        if interval.phase == "decode" and self.life.local_tokens:
            values |= {
                "pd.local_prompt_tokens": self.life.local_tokens,
                "pd.local_prompt_reason": "recompute",
            }
        span = self._span(f"pd.{interval.phase}", interval.worker, interval.start, interval.end, values)
        span.parent_span_id = root_id
        if interval.phase == "decode":
            for out, back in self.life.preempted:
                for name, at in (("preempted", out), ("resumed", back)):
                    span.events.add(name=name, time_unix_nano=self.stage.stamp(interval.worker, at))
        return span

    def _kv(self, interval: Interval) -> dict[str, Scalar]:
        if self.stage.mode is Mode.COLOCATED:
            return {}
        values: dict[str, Scalar] = {CARRIED[k]: v for k, v in interval.attributes.items() if k in CARRIED}
        if values or interval.phase == "kv_import":
            values["pd.kv.transfer_id"] = f"{self.rid}-{interval.attempt}"
        expires = interval.attributes.get("lease_expires")
        if isinstance(expires, int):
            values["pd.kv.lease_expires_unix_nano"] = self.stage.stamp(interval.worker, expires)
        if interval.phase in ("kv_publish", "kv_transfer"):
            values["pd.kv.connector"] = self.stage.connector
            values["pd.kv.source"] = self.stage.instance(f"prefill-{self.life.prefill}")
        if interval.phase == "kv_transfer":
            values |= self._path()
        return values

    def _path(self) -> dict[str, Scalar]:
        links = self.stage.scenario.run.spec.links
        values: dict[str, Scalar] = {
            "pd.kv.destination": self.stage.instance(f"decode-{self.life.decode}"),
            "pd.kv.transport": links.transport,
        }
        if links.line_known:
            values["pd.kv.link_gb_s"] = links.line_gb_s
        return values

    def _renewal(self, at: int, worker: str, attempt: int, expires: int) -> Ready:
        values: dict[str, Scalar] = {
            "pd.phase": "kv_publish",
            "pd.kv.transfer_id": f"{self.rid}-{attempt}",
            "pd.kv.lease_expires_unix_nano": self.stage.stamp(worker, expires),
        }
        return Ready(at, worker, self._span("pd.kv_publish", worker, at, at, values))

    def _release(self, at: int, worker: str, attempt: int, reason: str) -> Ready:
        values: dict[str, Scalar] = {"pd.kv.transfer_id": f"{self.rid}-{attempt}", "pd.kv.reason": reason}
        return Ready(at, worker, self._span("pd.kv_release", worker, at, at, values))
