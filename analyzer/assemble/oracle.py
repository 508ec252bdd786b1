"""Reads requests off their spans in plain Python: the adapters' rules, one span at a time, no store.

The store does this in SQL for every span that comes in; this is what the SQL is held equal to. It answers for one
request whose spans are all given; which spans belong together is identity's business.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from analyzer import timeline
from analyzer.assemble.rules_table import PHASE_CODE
from collector.engines.rules import (
    NEXT_ATTEMPT,
    Adapter,
    Between,
    Composite,
    Instant,
    Interval,
    Role,
    Root,
    Source,
    SpanRule,
    Where,
)
from collector.phases import Phase

Row = dict[str, object]

NOT_SEEN_NS = -(1 << 63)
"""What stands in `phase_from_ns` and `phase_until_ns` for a phase without an interval."""

_RECEIPT = (
    "admission_ms", "deadline_ns", "engine_ttft_ms", "error_type", "kv_transfer_estimated_ms",
    "route_candidates", "route_fallback", "route_reason", "route_rejected",
)  # fmt: skip
CLOCK_SLACK_NS = 50_000_000
"""How far (nanoseconds) an instant built from durations or reported as an event may lie off its span."""

ABSURD_NS = 9_223_372_036_854_775_807
OUTCOMES = ("ok", "cancelled", "interrupted", "rejected", "invalid", "timeout", "error")
_POOLS = {"prefill": Role.PREFILL, "decode": Role.DECODE, "router": Role.ROUTER, "colocated": Role.COLOCATED}
_DECODES = (Role.DECODE, Role.COLOCATED)


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


@dataclass(frozen=True)
class Reading:
    """What one span says by its rule, its process's role for the request being known."""

    span: Span
    rule: SpanRule
    adapter: str
    role: Role
    intervals: tuple["Stretch", ...]
    marks: tuple[tuple[str, int, int], ...]
    """Name, rank, nanoseconds."""
    facts: tuple[tuple[str, int, str], ...]
    """Name, rank, value."""
    impossible: int


@dataclass(frozen=True)
class Stretch:
    """An interval of the timeline with where it came from."""

    time: timeline.Interval
    role: Role
    source: Source
    worker: str


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
                            {
                                f"event:{e.name}:{name}": value
                                for e in s.events
                                for name, value in _attributes(e.attributes).items()
                            },
                        )
                    )  # fmt: skip
    return spans


def assemble(
    spans: Sequence[Span],
    adapters: Sequence[Adapter],
    roles: Sequence[tuple[str, Role, bool]] = (),
    lives: Iterable[tuple[str, int, int]] = (),
    graced: bool = True,
) -> Row | None:
    """The row of the request that `spans` are all of, times in nanoseconds; None when it is not to be shown (yet).

    roles: (pattern of a process's service or instance, role, whether it was configured). lives: from when to when
    each decode worker's processes are known to have worked. graced: a request span is no longer waited for.
    """
    rules = Rules(adapters)
    known = [span for span in spans if rules.of(span) is not None]
    unique = list({span.identity: span for span in known}.values())
    ruled = [(span, *found) for span in unique if (found := rules.of(span)) is not None]
    called = {
        (span.trace_id, span.span_id): role
        for span, _, rule in ruled
        if (role := _first_role(span, rule.calls)) is not Role.ANY
    }
    attempts = _attempts([(span, rule) for span, _, rule in ruled])
    readings = [
        _read(span, adapter, rule, _role(span, rule, called, roles), attempts[span.identity])
        for span, adapter, rule in ruled
    ]
    has_root = any(reading.rule.root is Root.REQUEST for reading in readings)
    has_fallback = any(reading.rule.root is Root.FALLBACK for reading in readings)
    if not has_root and not (has_fallback and graced):
        return None
    between = [rule for adapter in adapters for rule in adapter.between]
    return _Request(readings, between, has_root, tuple(lives)).row(len(known) - len(unique))


def worker_lives(rows: Iterable[Row]) -> list[tuple[str, int, int]]:
    """From when to when each decode worker's processes are known to have worked, from the requests they decoded."""
    lives: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        if not row["decode_process"] or row["first_token_at"] is None:
            continue
        who = str(row["decode_worker"]), str(row["decode_process"])
        start = int(str(row["started_at"]))
        last = int(str(row["last_token_at"] or row["first_token_at"]))
        first, until = lives.get(who, (start, last))
        lives[who] = min(first, start), max(until, last)
    return [(worker, first, until) for (worker, _), (first, until) in lives.items()]


class Rules:
    """The rules of all adapters, found by span."""

    def __init__(self, adapters: Sequence[Adapter]):
        self._by_key = {rule.key: (adapter, rule) for adapter in adapters for rule in adapter.rules}
        prefixes = {rule.prefix for adapter in adapters for rule in adapter.rules if rule.prefix}
        self._prefixes = sorted(prefixes, key=len, reverse=True)

    def named(self, span: Span) -> tuple[Adapter, SpanRule] | None:
        """The rule for spans of this name or scope, whether or not it reads this one."""
        if found := self._by_key.get(f"name:{span.name}"):
            return found
        prefix = next((prefix for prefix in self._prefixes if span.name.startswith(prefix)), None)
        return self._by_key.get(f"scope:{span.scope}:{span.kind}" if prefix is None else f"prefix:{prefix}")

    def of(self, span: Span) -> tuple[Adapter, SpanRule] | None:
        """The rule that reads this span."""
        found = self.named(span)
        wanted = found is not None and (
            not found[1].when or any(_holds(where, span) for where in found[1].when)
        )
        return found if wanted else None


class _Request:
    """One request, from what its spans say."""

    def __init__(
        self,
        readings: list[Reading],
        between: Sequence[Between],
        has_root: bool,
        lives: tuple[tuple[str, int, int], ...],
    ):
        self.readings = sorted(readings, key=lambda r: (r.span.start_ns, r.span.span_id))
        self.has_root = has_root
        self.lives = lives
        self.prefill_process = self._process(Role.PREFILL)
        self.decode_process = self._process(*_DECODES)
        routers = [r.span.process.worker for r in self.readings if r.role is Role.ROUTER]
        self.router_process = routers[0] if routers else ""
        self.prefill_worker = self._worker("prefill") or self.prefill_process
        self.decode_worker = self._worker("decode") or self.decode_process
        self.start = self._instant("request_start") or min(self._instants("engine_start"))
        self.end = self._instant("request_end")
        self.stretches = self._stretches(between)
        self.intervals = [stretch.time for stretch in self.stretches]
        self.attempts = max([interval.attempt for interval in self.intervals], default=1)
        self._tokens()
        self._outcome()

    def _process(self, *roles: Role) -> str:
        """The process that played a role: the last one to begin, for that is the attempt that counted."""
        names = [r.span.process.worker for r in self.readings if r.role in roles and r.intervals]
        return names[-1] if names else ""

    def _worker(self, side: str) -> str:
        host = self._fact(f"{side}_host")
        return self._fact(f"{side}_worker") or (host and f"{host}:{self._fact(f'{side}_port')}")

    def _fact(self, name: str) -> str:
        """The most trustworthy value; among equals that of the span that began last."""
        said = [
            (-rank, reading.span.start_ns, reading.span.span_id, value)
            for reading in self.readings
            for fact, rank, value in reading.facts
            if fact == name
        ]
        return max(said)[-1] if said else ""

    def _number(self, name: str, bits: int = 32) -> int | None:
        text = self._fact(name)
        return int(text) if re.fullmatch(r"\+?[0-9]+", text) and int(text) < 1 << bits else None

    def _instants(self, name: str, rank: int | None = None) -> list[int]:
        return [
            ns
            for reading in self.readings
            for mark, of_rank, ns in reading.marks
            if mark == name and rank in (None, of_rank)
        ]

    def _rank(self, name: str) -> int:
        ranks = [rank for reading in self.readings for mark, rank, _ in reading.marks if mark == name]
        return min(ranks, default=0)

    def _instant(self, name: str) -> int:
        """The earliest of the most trustworthy instants of a name; 0 when there is none."""
        return min(self._instants(name, self._rank(name)), default=0)

    def _stretches(self, between: Sequence[Between]) -> list[Stretch]:
        read = {stretch for reading in self.readings for stretch in reading.intervals}
        for rule in between:
            start, ends = self._instant(rule.start), self._instants(rule.end)
            if not start or not ends or min(ends) <= start:
                continue
            phase, covers = (None, rule.covers) if rule.composite else (rule.covers[0], ())
            role = _side(rule.covers[0])
            process = {Role.PREFILL: self.prefill_process, Role.DECODE: self.decode_process}.get(
                role, self.router_process
            )
            time = timeline.Interval(start, min(ends), phase, covers, 1, rule.reason)
            read.add(Stretch(time, role, rule.source, process))
        return sorted(read, key=lambda s: (s.time.start_ns, s.time.end_ns))

    def _tokens(self) -> None:
        raw, rank = self._instant("first_token"), self._rank("first_token")
        self.first_before_start = 0 < raw < self.start
        self.first = 0 if self.first_before_start else raw
        self.first_rank = rank
        self.last = max(self._instants("last_token", rank), default=0)
        self.output_tokens = self._number("output_tokens")
        self.engine_end = max(self._instants("engine_end"), default=0)

    def _outcome(self) -> None:
        said, status = self._fact("outcome"), self._number("http_status", 16) or 0
        self.http_status = status
        finish = self._fact("finish_reason")
        # the stream ended, its decode worker never reported it and is known to have worked on: the client left
        self.presumed_cancelled = (
            not said
            and 200 <= status <= 399
            and not self.engine_end
            and bool(self._instant("decode_dispatch"))
            and self.end > 0
            and any(w == self.decode_worker and a <= self.start and self.end < b for w, a, b in self.lives)
        )
        self.outcome = said or self._outcome_of_status(status)
        if said == "ok" and (finish in ("error", "abort") or self.output_tokens == 0):
            self.outcome = "error"
        success = said == "ok" or (not said and 200 <= status <= 399)
        self.masked = self.outcome == "error" and success

    def _outcome_of_status(self, status: int) -> str:
        named = {0: "", 429: "rejected", 503: "rejected", 499: "cancelled", 504: "timeout"}
        if status in named:
            return named[status]
        if status >= 400:
            return "error" if status >= 500 else "invalid"
        if self.presumed_cancelled:
            return "cancelled"
        if not self.engine_end:
            return ""
        if self.output_tokens == 0:
            return "error"
        left_early = self.end > 0 and self.end + 1_000_000 < self.engine_end
        return "cancelled" if left_early else "ok"

    def row(self, duplicates: int) -> Row:
        """All that the `requests` table says of it, but for what depends on the order of arrival."""
        failed = self.outcome in ("timeout", "error", "interrupted")
        until = self.first or (self.end if failed and self.end >= self.start else 0)
        decodes = self.first > 0 and self.last >= self.first
        composites = timeline.composites(self.intervals, self.start, until) if until else []
        root = min(self.readings, key=lambda r: (r.rule.root is not Root.REQUEST, r.span.start_ns))
        finished = bool(until) or self.outcome in ("cancelled", "rejected", "invalid")
        return {
            "request_id": self._fact("request_id"),
            "client_request_id": self._fact("client_request_id"),
            "trace_id": root.span.trace_id,
            "conversation_id": self._fact("conversation_id"),
            "system": root.adapter,
            "model": self._fact("model"),
            "tenant": self._fact("tenant"),
            "route": self._fact("route"),
            "cohort": self._fact("cohort") or self._cohort(),
            "prefill_worker": self.prefill_worker,
            "decode_worker": self.decode_worker,
            "decode_process": self.decode_process,
            "started_at": self.start,
            "ended_at": self.end or None,
            "outcome": self.outcome,
            "finish_reason": self._fact("finish_reason"),
            "http_status": self.http_status,
            "complete": int(self.has_root and self.end > 0 and self.outcome != "" and finished),
            "censored": int(not self.first and bool(until)),
            "attempts": self.attempts,
            "itl_p50_ms": _float(self._fact("itl_p50_ms")),
            "itl_p99_ms": _float(self._fact("itl_p99_ms")),
            "itl_max_ms": _float(self._fact("itl_max_ms")),
            "stalled_ns": self._stalled_ns() if self._fact("stalled_ms") else None,
            "local_prompt_tokens": self._number("local_prompt_tokens"),
            "local_prompt_reason": self._fact("local_prompt_reason"),
            "first_token_by": self._fact("first_token_by"),
            "receipt": {name: self._fact(name) for name in _RECEIPT if self._fact(name)},
            "input_tokens": self._number("input_tokens"),
            "output_tokens": self.output_tokens,
            "cached_tokens": self._number("cached_tokens"),
            "first_token_at": self.first or None,
            "last_token_at": self.last or None,
            "ttft_ns": until - self.start if until else None,
            "ttft_source": self._ttft_source(),
            "ttft_uncertainty_ns": self._uncertainty(),
            "tpot_ns": (self.last - self.first) / (self.output_tokens - 1)
            if decodes and self.output_tokens and self.output_tokens >= 2
            else None,
            "e2e_ns": self.end - self.start if self.end else None,
            "exposed_ns": list(timeline.exposed(self.intervals, self.start, until).values()) if until else [],
            "exposed_decode_ns": list(self._decode_parts().values()) if decodes else [],
            "phase_ns": self._phase_ns(),
            "phase_from_ns": [min(starts, default=NOT_SEEN_NS) for starts, _ in self._extents()],
            "phase_until_ns": [max(ends, default=NOT_SEEN_NS) for _, ends in self._extents()],
            "preempted_ns": sum(i.end_ns - i.start_ns for i in self.intervals if i.preempted),
            "composites": [(list(c.covers), c.exposed_ns, c.reason) for c in composites],
            "intervals": self._shown_intervals(),
            "spans": len(self.readings),
            "duplicate_spans": duplicates,
            "joined_by": self._joined_by(),
            "notes": self._notes(),
        }

    def _cohort(self) -> str:
        named = [r.span.process.get("pd.cohort") for r in self.readings]
        return ([name for name in named if name] or [""])[-1]

    def _ttft_source(self) -> str:
        if not self.first:
            return ""
        return {1: "client", 2: "router_first_token"}.get(self.first_rank, "engine_first_token")

    def _uncertainty(self) -> int | None:
        if not self.first:
            return None
        if self.first_rank <= 2:
            return 0
        return max(0, self.end - self.engine_end) if self.end and self.engine_end else None

    def _decode_parts(self) -> dict[str, int]:
        return timeline.decode_parts(self.intervals, self.first, self.last, self._stalled_ns())

    def _stalled_ns(self) -> int:
        stalled = (_float(self._fact("stalled_ms")) or 0.0) * 1e6
        return round(stalled) if 0 < stalled < ABSURD_NS else 0

    def _extents(self) -> Iterator[tuple[list[int], list[int]]]:
        """Per phase, when its intervals began and ended after the start; of the last attempt, but for the router's."""
        for phase in Phase:
            anyhow = phase in (Phase.ROUTER_QUEUE, Phase.TOKENIZE)
            mine = [i for i in self.intervals if i.phase is phase and (anyhow or i.attempt == self.attempts)]
            yield [i.start_ns - self.start for i in mine], [i.end_ns - self.start for i in mine]

    def _phase_ns(self) -> list[int]:
        counted = timeline.cut_superseded(self.intervals)
        return [timeline.union_ns(i for i in counted if i.phase is phase) for phase in Phase]

    def _shown_intervals(self) -> list[tuple[object, ...]]:
        return [
            (
                s.time.phase or ("preempted" if s.time.preempted else ""),
                list(s.time.covers),
                s.time.start_ns,
                s.time.end_ns,
                self._shown_worker(s),
                s.time.attempt,
                str(s.source),
                s.time.reason,
            )
            for s in self.stretches
        ]

    def _shown_worker(self, stretch: Stretch) -> str:
        """The worker's name on the request, where it is the process that the interval came from."""
        if stretch.role is Role.PREFILL and stretch.worker == self.prefill_process:
            return self.prefill_worker
        if stretch.role in _DECODES and stretch.worker == self.decode_process:
            return self.decode_worker
        return stretch.worker

    def _joined_by(self) -> list[str]:
        traces = {reading.span.trace_id for reading in self.readings}
        return ["trace_id"] if len(traces) == 1 else ["request_id", "trace_id"]

    def _notes(self) -> list[str]:
        ended = self.has_root and self.end > 0
        notes = {
            "impossible_duration": any(reading.impossible for reading in self.readings),
            "first_token_before_start": self.first_before_start,
            "success_status_masks_failure": self.masked,
            "no_request_span": not self.has_root,
            "client_left_without_engine_span": self.presumed_cancelled,
            "no_first_token": ended and not self.first and self.outcome in ("", "ok"),
        }
        return [note for note, holds in notes.items() if holds]


def _read(span: Span, adapter: Adapter, rule: SpanRule, role: Role, attempt: int) -> Reading:
    impossible = 0
    intervals = _queues(span, rule, role)
    for output in rule.intervals:
        if not _holds(output.where, span):
            continue
        start, end = _at(output.start, span), _at(output.end, span)
        if start is None or end is None:
            continue
        if not _on(output.start, span) or not _on(output.end, span) or start > end:
            impossible += 1
        elif output.role in (Role.ANY, role):
            intervals.append(_stretch(output, _clip(start, span), _clip(end, span), attempt, role, span))
    intervals += [
        Stretch(
            timeline.Interval(start, end, attempt=attempt, preempted=True),
            role,
            Source.OBSERVED,
            span.process.worker,
        )
        for start, end in _preempted(span)
    ]
    marks = []
    for mark in rule.marks:
        ns = _at(mark.at, span) if _holds(mark.where, span) else None
        if ns is None:
            continue
        if not _on(mark.at, span):
            impossible += 1
        elif mark.role in (Role.ANY, role):
            marks.append((mark.name, mark.rank, _clip(ns, span)))
    facts = [
        (fact.name, fact.rank, fact.value or span.attributes.get(fact.key) or span.told.get(fact.key, ""))
        for fact in rule.facts
        if fact.role in (Role.ANY, role) and _holds(fact.where, span)
    ]
    kept = tuple(fact for fact in facts if fact[2])
    return Reading(span, rule, adapter.name, role, tuple(intervals), tuple(marks), kept, impossible)


def _stretch(
    output: Interval | Composite, start: int, end: int, attempt: int, role: Role, span: Span
) -> Stretch:
    if isinstance(output, Composite):
        time = timeline.Interval(start, end, None, output.covers, attempt, output.reason)
        return Stretch(time, role, Source.BOUNDED, span.process.worker)
    time = timeline.Interval(start, end, output.phase, (), attempt, output.reason)
    return Stretch(time, role, output.source, span.process.worker)


def _role(
    span: Span,
    rule: SpanRule,
    called: Mapping[tuple[bytes, bytes], Role],
    roles: Sequence[tuple[str, Role, bool]],
) -> Role:
    """Configuration and the process's own word, then who called it, then its dialect, then its name."""
    names = (span.process.get("service.name"), span.process.get("service.instance.id"))
    configured, guessed = (
        next(
            (r for p, r, is_set in roles if is_set is wanted and any(re.search(p, name) for name in names)),
            Role.ANY,
        )
        for wanted in (True, False)
    )
    return (
        _POOLS.get(span.process.get("pd.pool"))
        or configured
        or (_first_role(span, rule.plays) is Role.ROUTER and Role.ROUTER)
        or called.get((span.trace_id, span.parent_id))
        or _first_role(span, rule.plays)
        or guessed
    )


def _first_role(span: Span, choices: Iterable[tuple[Where, Role]]) -> Role:
    return next((role for where, role in choices if _holds(where, span)), Role.ANY)


def _holds(where: Where, span: Span) -> bool:
    def one(name: str, value: str) -> bool:
        if name == "@status":
            return str(span.status) == value
        if value in ("*", ""):
            there = (
                any(f"@event:{event}" == name for event, _ in span.events)
                if name.startswith("@event:")
                else name in span.attributes
            )
            return there == (value == "*")
        return span.attributes.get(name) == value

    return all(one(name, value) for name, value in where)


def _at(instant: Instant, span: Span) -> int | None:
    """The instant in nanoseconds, ABSURD_NS for one no clock shows; None when the span does not say."""
    if instant.anchor in ("start", "end"):
        anchor = span.start_ns if instant.anchor == "start" else span.end_ns
    elif instant.anchor.startswith("event:"):
        anchor = next((ns for name, ns in span.events if f"event:{name}" == instant.anchor), 0)
    else:
        anchor = int(span.attributes.get(instant.anchor.removeprefix("attr:"), "0"))
    if not anchor:
        return None
    parts = [(_float(span.attributes.get(name, "")), ns) for name, ns in instant.plus]
    if any(value is None for value, _ in parts):
        return None
    total = sum(value * ns for value, ns in parts if value is not None)
    return anchor + round(total) if math.isfinite(total) else ABSURD_NS


def _on(instant: Instant, span: Span) -> bool:
    """Whether durations fit into the span and an event lies on it, but for a little slack between clocks."""
    longest = span.end_ns - span.start_ns + CLOCK_SLACK_NS
    for name, ns_per_unit in instant.plus:
        part = (_float(span.attributes.get(name, "")) or 0.0) * abs(ns_per_unit)
        if not -CLOCK_SLACK_NS <= part <= longest:
            return False
    if not instant.anchor.startswith("event:"):
        return True
    event = _at(Instant(instant.anchor), span)
    return event is not None and span.start_ns - CLOCK_SLACK_NS <= event <= span.end_ns + CLOCK_SLACK_NS


def _clip(ns: int, span: Span) -> int:
    return max(span.start_ns, min(span.end_ns, ns))


def _preempted(span: Span) -> list[tuple[int, int]]:
    """From each `preempted` event to the next `resumed` one, or to the end of the span."""
    resumed = [ns for name, ns in span.events if name == "resumed"]
    return [
        (at, min([ns for ns in resumed if at < ns < span.end_ns], default=span.end_ns))
        for name, at in span.events
        if name == "preempted" and span.start_ns <= at <= span.end_ns
    ]


def _queues(span: Span, rule: SpanRule, role: Role) -> list[Stretch]:
    """The router's queue of each attempt it says it sent off: the first waited since the start."""
    sent = sorted(ns for name, ns in span.events if name == rule.dispatches and _clip(ns, span) == ns)
    return [
        Stretch(
            timeline.Interval(
                at if number else span.start_ns, at, Phase.ROUTER_QUEUE, attempt=min(number + 1, 250)
            ),
            role,
            Source.OBSERVED,
            span.process.worker,
        )
        for number, at in enumerate(sent)
    ]


def _attempts(ruled: Sequence[tuple[Span, SpanRule]]) -> dict[tuple[bytes, bytes, Process], int]:
    """The attempt of each span: its own word, else its parent's, else the first. Named attempts are numbered by
    when their first span began.
    """
    ordered = sorted(ruled, key=lambda one: (one[0].start_ns, one[0].span_id, one[0].trace_id))
    names = dict.fromkeys(
        name for span, rule in ordered if (name := _attempt_name(span, rule)) and name != NEXT_ATTEMPT
    )
    numbers = {name: min(number, 250) for number, name in enumerate(names, start=1)}
    found = {
        span.identity: numbers.get(_attempt_name(span, rule)) or _attempt(span, rule)
        for span, rule in ordered
    }
    if len(names) > 1 or max(found.values(), default=0) > 1:
        said = [found[span.identity] for span, _ in ordered]
        for place, (span, rule) in enumerate(ordered):
            if _attempt_name(span, rule) == NEXT_ATTEMPT:
                found[span.identity] = next((attempt for attempt in said[place:] if attempt), 0)
        first = {(span.trace_id, span.span_id): span for span, _ in reversed(ordered)}
        for _ in range(8):
            inherited = {
                span.identity: found[parent.identity]
                for span, _ in ordered
                if not found[span.identity] and (parent := first.get((span.trace_id, span.parent_id)))
            }
            found.update(inherited)
    return {identity: attempt or 1 for identity, attempt in found.items()}


def _attempt_name(span: Span, rule: SpanRule) -> str:
    if not rule.attempt_id or rule.attempt:
        return ""
    return NEXT_ATTEMPT if rule.attempt_id == NEXT_ATTEMPT else span.attributes.get(rule.attempt_id, "")


def _attempt(span: Span, rule: SpanRule) -> int:
    """1 for the first attempt, whatever number that carries; 0 when spans like it carry none."""
    if not rule.attempt:
        return 0
    text = span.attributes.get(rule.attempt, "")
    number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,9}", text) else rule.attempt_base
    return min(max(number - rule.attempt_base + 1, 1), 250)


def _side(phase: Phase) -> Role:
    """Where a phase is spent."""
    if PHASE_CODE[phase] <= PHASE_CODE[Phase.TOKENIZE]:
        return Role.ROUTER
    return Role.PREFILL if PHASE_CODE[phase] <= PHASE_CODE[Phase.KV_PUBLISH] else Role.DECODE


def _float(text: str) -> float | None:
    if not re.fullmatch(
        r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", text, re.I
    ):
        return None
    return float(text)


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
