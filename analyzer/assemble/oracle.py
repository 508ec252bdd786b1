"""Rebuilds requests in plain Python from what their spans say; no store.

The store does this in SQL for every span that comes in; this is what the SQL is held equal to. It answers for
one request whose spans are all given; which spans belong together is identity's business.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from analyzer import timeline
from analyzer.assemble.codes import PHASE_CODE
from analyzer.assemble.oracle_attempts import attempts
from analyzer.assemble.oracle_reading import ABSURD_NS, Reading, Stretch, as_float, read_by_rule, role_of
from analyzer.assemble.oracle_rules import Rules, first_role
from analyzer.assemble.oracle_spans import Span
from collector.engines.rules import Adapter, Between, Role, Root
from collector.phases import Phase

Row = dict[str, object]

NATIVE = "native"
"""The adapter of the convention itself: its spans say nothing of what served the request."""

NOT_SEEN_NS = -(1 << 63)
"""What stands in `phase_from_ns` and `phase_until_ns` for a phase without an interval."""

_RECEIPT = (
    "admission_ms", "deadline_ns", "engine_ttft_ms", "error_type", "kv_transfer_estimated_ms",
    "output_tokens_by", "route_candidates", "route_fallback", "route_reason", "route_rejected",
)  # fmt: skip
_DECODES = (Role.DECODE, Role.COLOCATED)


def assemble(
    spans: Sequence[Span],
    adapters: Sequence[Adapter],
    roles: Sequence[tuple[str, Role, bool]] = (),
    lives: Iterable[tuple[str, int, int]] = (),
    graced: bool = True,
) -> Row | None:
    """The row of the request that `spans` are all of, times in nanoseconds; None when it is not shown (yet).

    roles: (pattern of a process's service or instance, role, whether it was configured). lives: from when to
    when each decode worker's processes are known to have worked. graced: no request span is waited for.
    """
    rules = Rules(adapters)
    known = [span for span in spans if rules.of(span) is not None]
    unique = list({span.identity: span for span in known}.values())
    ruled = [(span, *found) for span in unique if (found := rules.of(span)) is not None]
    called = {
        (span.trace_id, span.span_id): role
        for span, _, rule in ruled
        if (role := first_role(span, rule.calls)) is not Role.ANY
    }
    tries = attempts([(span, rule) for span, _, rule in ruled])
    readings = [
        read_by_rule(span, adapter, rule, role_of(span, rule, called, roles), tries[span.identity])
        for span, adapter, rule in ruled
    ]
    has_root = any(reading.rule.root is Root.REQUEST for reading in readings)
    has_fallback = any(reading.rule.root is Root.FALLBACK for reading in readings)
    if not has_root and not (has_fallback and graced):
        return None
    between = [rule for adapter in adapters for rule in adapter.between]
    return _Request(readings, between, has_root, tuple(lives)).row(len(known) - len(unique))


def worker_lives(rows: Iterable[Row]) -> list[tuple[str, int, int]]:
    """From when to when each decode worker's processes worked, by the requests they decoded."""
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
        named = self._fact(f"{side}_worker").removeprefix("http://").removeprefix("https://")
        return named or (host and f"{host}:{self._fact(f'{side}_port')}")

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
            phase, covers = (None, rule.covers) if len(rule.covers) != 1 else (rule.covers[0], ())
            role = _side(max(rule.covers, key=PHASE_CODE.__getitem__)) if rule.covers else Role.DECODE
            process = {Role.PREFILL: self.prefill_process, Role.DECODE: self.decode_process}.get(
                role, self.router_process
            )
            for start, end in self._spells(rule):
                time = timeline.Interval(start, end, phase, covers, 1, rule.reason, preempted=not rule.covers)
                read.add(Stretch(time, role, rule.source, process))
        return sorted(read, key=lambda s: (s.time.start_ns, s.time.end_ns))

    def _spells(self, rule: Between) -> list[tuple[int, int]]:
        """From when to when the time between two marks ran: once, but for the times it was put off."""
        ends = self._instants(rule.end)
        if rule.covers:
            start, end = self._instant(rule.start), min(ends, default=0)
            return [(start, end)] if 0 < start < end else []
        starts: dict[int, list[int]] = {}
        for start in self._instants(rule.start):
            if end := min((end for end in ends if end > start), default=0):
                starts.setdefault(end, []).append(start)
        return [(min(begun), end) for end, begun in starts.items()]

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
        # the stream ended, its decode worker never reported it and is known to have lived on: the client left
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
        named = {0: "", 429: "rejected", 503: "rejected", 529: "rejected", 499: "cancelled", 504: "timeout"}
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
        served = min(
            self.readings,
            key=lambda r: (
                r.adapter == NATIVE,
                r.rule.root is not Root.REQUEST,
                r.span.start_ns,
                r.span.span_id,
            ),
        )
        finished = bool(until) or self.outcome in ("cancelled", "rejected", "invalid")
        return {
            "request_id": self._fact("request_id"),
            "client_request_id": self._fact("client_request_id"),
            "trace_id": root.span.trace_id,
            "conversation_id": self._fact("conversation_id"),
            "system": served.adapter,
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
            "itl_p50_ms": as_float(self._fact("itl_p50_ms")),
            "itl_p99_ms": as_float(self._fact("itl_p99_ms")),
            "itl_max_ms": as_float(self._fact("itl_max_ms")),
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
        return {0: "router_first_token", 1: "client", 2: "router_first_token"}.get(
            self.first_rank, "engine_first_token"
        )

    def _uncertainty(self) -> int | None:
        if not self.first:
            return None
        if self.first_rank <= 2:
            return 0
        return max(0, self.end - self.engine_end) if self.end and self.engine_end else None

    def _decode_parts(self) -> dict[str, int]:
        return timeline.decode_parts(self.intervals, self.first, self.last, self._stalled_ns())

    def _stalled_ns(self) -> int:
        stalled = (as_float(self._fact("stalled_ms")) or 0.0) * 1e6
        return round(stalled) if 0 < stalled < ABSURD_NS else 0

    def _extents(self) -> Iterator[tuple[list[int], list[int]]]:
        """Per phase, begins and ends of its intervals, from the start; of the router every attempt counts."""
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
        """The name the router gave the worker that counted; else its process's own."""
        if stretch.time.attempt < self.attempts:
            return stretch.worker
        if stretch.role is Role.PREFILL and self.prefill_worker != self.prefill_process:
            return self.prefill_worker
        if stretch.role in _DECODES and self.decode_worker != self.decode_process:
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


def _side(phase: Phase) -> Role:
    """Where a phase is spent."""
    if PHASE_CODE[phase] <= PHASE_CODE[Phase.TOKENIZE]:
        return Role.ROUTER
    return Role.PREFILL if PHASE_CODE[phase] <= PHASE_CODE[Phase.KV_PUBLISH] else Role.DECODE
