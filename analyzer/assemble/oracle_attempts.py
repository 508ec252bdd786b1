"""Which attempt of its request each span belongs to, plainly."""

import re
from collections.abc import Sequence

from analyzer.assemble.oracle_spans import Process, Span
from collector.engines.rules import NEXT_ATTEMPT, SpanRule


def attempts(ruled: Sequence[tuple[Span, SpanRule]]) -> dict[tuple[bytes, bytes, Process], int]:
    """The attempt of each span: its own word, else its parent's, else the first.

    Named attempts are numbered by when their first span began.
    """
    ordered = sorted(ruled, key=lambda one: (one[0].start_ns, one[0].span_id, one[0].trace_id))
    names = dict.fromkeys(
        name for span, rule in ordered if (name := _name(span, rule)) and name != NEXT_ATTEMPT
    )
    numbers = {name: min(number, 250) for number, name in enumerate(names, start=1)}
    found = {span.identity: numbers.get(_name(span, rule)) or _number(span, rule) for span, rule in ordered}
    if len(names) > 1 or max(found.values(), default=0) > 1:
        said = [found[span.identity] for span, _ in ordered]
        for place, (span, rule) in enumerate(ordered):
            if _name(span, rule) == NEXT_ATTEMPT:
                found[span.identity] = next((attempt for attempt in said[place:] if attempt), 0)
        first = {(span.trace_id, span.span_id): span for span, _ in reversed(ordered)}
        for _ in range(8):
            found |= {
                span.identity: found[parent.identity]
                for span, _ in ordered
                if not found[span.identity] and (parent := first.get((span.trace_id, span.parent_id)))
            }
    return {identity: attempt or 1 for identity, attempt in found.items()}


def _name(span: Span, rule: SpanRule) -> str:
    if not rule.attempt_id or rule.attempt:
        return ""
    return NEXT_ATTEMPT if rule.attempt_id == NEXT_ATTEMPT else span.attributes.get(rule.attempt_id, "")


def _number(span: Span, rule: SpanRule) -> int:
    """1 for the first attempt, whatever number that carries; 0 when spans like it carry none."""
    if not rule.attempt:
        return 0
    text = span.attributes.get(rule.attempt, "")
    said = int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else rule.attempt_base
    number = said if -(1 << 31) <= said < 1 << 31 else rule.attempt_base
    return min(max(number - rule.attempt_base + 1, 1), 250)
