"""What a span says, as SQL expressions over `batch_read`: attributes, conditions, instants.

Every name and value in them is an adapter's own and is written as a literal; nothing that a user or a span
says gets there.
"""

from collections.abc import Iterable

from collector.engines.rules import Instant, Where

ALWAYS = "1"
"""A condition that always holds."""

SLACK_NS = 50_000_000
"""How far (nanoseconds) an instant built from durations or reported as an event may lie off its span: clocks
disagree.
"""

NO_DURATION_NS = 4_000_000_000_000_000_000
"""Stands for a duration that is no number of nanoseconds (nan, inf, 1e30): far in the future, where it is
found impossible.
"""


def literal(text: str) -> str:
    """The text as a string literal of ClickHouse."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def nanoseconds(at: Instant) -> str:
    """The instant in Unix nanoseconds, 0 where the span does not say it."""
    anchor = _anchor(at)
    if not at.plus:
        return anchor
    parts = [(numeric(name), factor) for name, factor in at.plus]
    missing = " OR ".join(f"isNull({number})" for number, _ in parts)
    total = " + ".join(f"{number} * {factor!r}" for number, factor in parts)
    duration = f"ifNull(accurateCastOrNull(round({total}), 'Int64'), {NO_DURATION_NS})"
    return f"if({anchor} <= 0 OR {missing}, 0, greatest(1, {anchor} + {duration}))"


def _anchor(at: Instant) -> str:
    kind, _, name = at.anchor.partition(":")
    if kind == "event":
        return f"instants[indexOf(events, {literal(name)})]"
    return f"toInt64OrZero({attribute(name)})" if kind == "attr" else f"{kind}_ns"


def on_span(at: Instant) -> list[str]:
    """That a duration inside a span is neither negative nor longer than it, that an event lies on it."""
    longest = f"end_ns - start_ns + {SLACK_NS}"
    fits = [
        f"ifNull({numeric(name)}, 0) * {abs(factor)!r} BETWEEN -{SLACK_NS} AND {longest}"
        for name, factor in at.plus
    ]
    if at.anchor.startswith("event:"):
        fits.append(f"{_anchor(at)} BETWEEN start_ns - {SLACK_NS} AND end_ns + {SLACK_NS}")
    return fits


def clipped(ns: str) -> str:
    """The instant, brought onto its span."""
    return f"greatest(start_ns, least(end_ns, {ns}))"


def numeric(name: str) -> str:
    """An attribute as a number; null where it is none."""
    return f"toFloat64OrNull({attribute(name)})"


def attribute(name: str) -> str:
    """Value of an attribute, or of 'event:NAME:ATTRIBUTE' as in `Fact.key`; '' where the span says none."""
    if name.startswith("event:"):
        return f"arrayLast(t -> t.1 = {literal(name)}, told).2"
    return f"texts[indexOf(keys, {literal(name)})]"


def holds(where: Where) -> str:
    """That all conditions hold of a span."""
    return all_of(_one(name, value) for name, value in where)


def _one(name: str, value: str) -> str:
    if name == "@status":
        return f"toString(status) = {literal(value)}"
    if value not in ("*", ""):
        return f"{attribute(name)} = {literal(value)}"
    if name.startswith("@event:"):
        there = f"has(events, {literal(name.removeprefix('@event:'))})"
    else:
        there = f"has(keys, {literal(name)})"
    return there if value == "*" else f"NOT {there}"


def all_of(conditions: Iterable[str]) -> str:
    """That all of them hold."""
    return " AND ".join(one for one in conditions if one != ALWAYS) or ALWAYS
