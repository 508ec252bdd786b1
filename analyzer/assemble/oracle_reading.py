"""What one span says by its adapter's rule: intervals, marks and facts; one span at a time, no store."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyzer import timeline
from analyzer.assemble.oracle_rules import first_role, holds, said
from analyzer.assemble.oracle_spans import Span
from collector.engines.rules import (
    EACH,
    Adapter,
    Composite,
    Instant,
    Interval,
    Role,
    Source,
    SpanRule,
)
from collector.phases import Phase

CLOCK_SLACK_NS = 50_000_000
"""How far (nanoseconds) an instant built from durations or reported as an event may lie off its span."""

ABSURD_NS = 9_223_372_036_854_775_807
_POOLS = {"prefill": Role.PREFILL, "decode": Role.DECODE, "router": Role.ROUTER, "colocated": Role.COLOCATED}


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


def read_by_rule(span: Span, adapter: Adapter, rule: SpanRule, role: Role, attempt: int) -> Reading:
    """What the span says, the role of its process and its attempt being known."""
    impossible = 0
    intervals = _queues(span, rule, role)
    for output in rule.intervals:
        if not holds(output.where, span):
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
        for ns, is_on in _instants(mark.at, span) if holds(mark.where, span) else ():
            if not is_on:
                impossible += 1
            elif mark.role in (Role.ANY, role):
                marks.append((mark.name, mark.rank, _clip(ns, span)))
    facts = [
        (fact.name, fact.rank, fact.value or said(span, fact.key))
        for fact in rule.facts
        if fact.role in (Role.ANY, role) and holds(fact.where, span)
    ]
    # Whose the process is outranks what its spans say.
    facts.append(("tenant", 0, span.process.get("pd.tenant")))
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


def role_of(
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
        or (first_role(span, rule.plays) is Role.ROUTER and Role.ROUTER)
        or called.get((span.trace_id, span.parent_id))
        or first_role(span, rule.plays)
        or guessed
    )


def _at(instant: Instant, span: Span) -> int | None:
    """The instant in nanoseconds, ABSURD_NS for one no clock shows; None when the span does not say."""
    if instant.anchor in ("start", "end"):
        anchor = span.start_ns if instant.anchor == "start" else span.end_ns
    elif instant.anchor.startswith("event:"):
        anchor = next((ns for name, ns in span.events if f"event:{name}" == instant.anchor), 0)
    else:
        anchor = int(span.attributes.get(instant.anchor.removeprefix("attr:"), "0"))
    if not 0 < anchor <= ABSURD_NS:
        return None
    parts = [(as_float(span.attributes.get(name, "")), ns) for name, ns in instant.plus]
    if any(value is None for value, _ in parts):
        return None
    total = sum(value * ns for value, ns in parts if value is not None)
    return anchor + round(total) if math.isfinite(total) else ABSURD_NS


def _instants(instant: Instant, span: Span) -> list[tuple[int, bool]]:
    """The instants of a mark in nanoseconds, each with whether it lies on the span."""
    if instant.anchor.startswith(EACH):
        named = [ns for name, ns in span.events if name == instant.anchor.removeprefix(EACH) and ns > 0]
        first, last = span.start_ns - CLOCK_SLACK_NS, span.end_ns + CLOCK_SLACK_NS
        return [(ns, first <= ns <= last) for ns in named]
    ns = _at(instant, span)
    return [] if ns is None else [(ns, _on(instant, span))]


def _on(instant: Instant, span: Span) -> bool:
    """Whether durations fit into the span and an event lies on it, but for a little slack between clocks."""
    longest = span.end_ns - span.start_ns + CLOCK_SLACK_NS
    for name, ns_per_unit in instant.plus:
        part = (as_float(span.attributes.get(name, "")) or 0.0) * abs(ns_per_unit)
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
    if not rule.dispatches:
        return []
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


def as_float(text: str) -> float | None:
    """The number a text says, not finite perhaps; None when it says none."""
    if not re.fullmatch(
        r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", text, re.I
    ):
        return None
    return float(text)
