"""Writes the adapters' rules where the SQL reads them."""

from collections.abc import Iterable, Iterator

from analyzer.assemble.scratch import RULES, Scratch
from collector.engines.rules import (
    NEXT_ATTEMPT,
    Adapter,
    Between,
    Composite,
    Instant,
    Interval,
    Kv,
    Role,
    Source,
    SpanRule,
    Where,
)
from collector.phases import Phase
from collector.store import Store, keep_rows

PHASE_CODE: dict[Phase, int] = {phase: code for code, phase in enumerate(Phase, start=1)}
SOURCE_CODE: dict[Source, int] = {Source.OBSERVED: 1, Source.DERIVED: 2, Source.BOUNDED: 3}

KV_TEXT = ("status", "reason", "connector", "transport", "source", "destination", "rank")
KV_NUMBERS = (
    "bytes", "tokens", "descriptors", "already_held_tokens",
    "post_ns", "wait_ns", "lease_ns", "lease_s", "link_gb_s",
)  # fmt: skip
"""What a KV event says, in the order in which the SQL finds it."""

_COLUMNS = (
    "key",
    "prefix",
    "wanted",
    "dialect",
    "root",
    "ids",
    "id_form",
    "calls",
    "plays",
    "attempt",
    "attempt_base",
    "attempt_id",
    "dispatches",
    "intervals",
    "marks",
    "facts",
    "kv",
    "attributes",
    "events",
    "told",
)


_ROLE_COLUMNS = ("pattern", "role", "configured")


def covers_mask(phases: Iterable[Phase]) -> int:
    """Bit n-1 set for each phase of code n."""
    return sum(1 << (PHASE_CODE[phase] - 1) for phase in phases)


def write_rules(
    store: Store, scratch: Scratch, adapters: Iterable[Adapter], roles: Iterable[tuple[str, Role, bool]]
) -> None:
    """Replace the rules by those of `adapters`; roles: (pattern, role, whether it was configured).

    The roles are read by the store's own views as well.
    """
    adapters = tuple(adapters)
    rules = [_row(adapter, rule) for adapter in adapters for rule in adapter.rules]
    between = [_between(rule) for adapter in adapters for rule in adapter.between]
    processes = [[pattern, int(role), int(configured)] for pattern, role, configured in roles]
    # where the store's own views and answers look for them
    keep_rows(store, "span_rules", rules, _COLUMNS)
    keep_rows(store, "process_roles", processes, _ROLE_COLUMNS)
    for table in RULES:
        scratch.command(f"TRUNCATE TABLE {{scratch:Identifier}}.{table}")
    scratch.insert("mark_rules", between, ("start", "end", "phase", "covers", "source", "reason"))
    scratch.insert("process_roles", processes, _ROLE_COLUMNS)
    # last: that they are there says that all are
    scratch.insert("span_rules", rules, _COLUMNS)


def _between(rule: Between) -> list[object]:
    phase, covers = (0, covers_mask(rule.covers)) if rule.composite else (PHASE_CODE[rule.covers[0]], 0)
    return [rule.start, rule.end, phase, covers, SOURCE_CODE[rule.source], rule.reason]


def _row(adapter: Adapter, rule: SpanRule) -> list[object]:
    keys, asked = {fact.key for fact in rule.facts}, {name for name, _ in _asked(rule)}
    return [
        rule.key,
        rule.prefix,
        [list(where) for where in rule.when],
        adapter.name,
        int(rule.root),
        list(rule.ids),
        int(rule.id_form),
        [(list(where), int(role)) for where, role in rule.calls],
        [(list(where), int(role)) for where, role in rule.plays],
        rule.attempt,
        rule.attempt_base,
        rule.attempt_id,
        rule.dispatches,
        [_interval(output) for output in rule.intervals],
        [(list(m.where), m.name, m.rank, int(m.role), m.at.anchor, list(m.at.plus)) for m in rule.marks],
        [(list(f.where), f.name, f.rank, int(f.role), f.key, f.value) for f in rule.facts],
        [_kv(output) for output in rule.kv],
        sorted(set(attributes(rule))),
        sorted({name.removeprefix("@event:") for name in asked if name.startswith("@event:")}),
        sorted({name.split(":")[1] for name in (*keys, *asked) if name.startswith("event:")}),
    ]


def _interval(output: Interval | Composite) -> tuple[object, ...]:
    if isinstance(output, Composite):
        phase, covers, source = 0, covers_mask(output.covers), Source.BOUNDED
    else:
        phase, covers, source = PHASE_CODE[output.phase], 0, output.source
    return (
        list(output.where), phase, covers, int(output.role), SOURCE_CODE[source], output.reason,
        output.start.anchor, list(output.start.plus), output.end.anchor, list(output.end.plus),
    )  # fmt: skip


def _kv(output: Kv) -> tuple[object, ...]:
    return (
        list(output.where), output.event.value, output.id,
        output.start.anchor, output.end.anchor,
        [dict(output.text).get(name, "") for name in KV_TEXT],
        [_number(output, name) for name in KV_NUMBERS],
    )  # fmt: skip


def _number(output: Kv, name: str) -> tuple[str, float]:
    """Attribute and factor of one number; ('', 1) when the span does not say it."""
    return next(((key, factor) for said, key, factor in output.numbers if said == name), ("", 1.0))


def _asked(rule: SpanRule) -> Iterator[tuple[str, str]]:
    """Every condition of a rule."""
    wheres: list[Where] = [*rule.when, *(where for where, _ in (*rule.calls, *rule.plays))]
    wheres += [output.where for output in (*rule.intervals, *rule.marks, *rule.facts, *rule.kv)]
    for where in wheres:
        yield from where


def attributes(rule: SpanRule) -> Iterator[str]:
    """Names of the span attributes that a rule reads."""
    yield from rule.ids
    yield from (name for name in (rule.attempt, rule.attempt_id) if name and name != NEXT_ATTEMPT)
    instants: list[Instant] = [mark.at for mark in rule.marks]
    for output in rule.intervals:
        instants += [output.start, output.end]
    for instant in instants:
        yield from (name for name, _ in instant.plus)
        if instant.anchor.startswith("attr:"):
            yield instant.anchor.removeprefix("attr:")
    yield from (name for name, _ in _asked(rule) if not name.startswith("@"))
    yield from (fact.key for fact in rule.facts if fact.key)
    for kv in rule.kv:
        yield from (attribute for _, attribute in kv.text if not attribute.startswith("="))
        yield from (attribute for _, attribute, _ in kv.numbers)
        if kv.id:
            yield kv.id
