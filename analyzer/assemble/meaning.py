"""What the spans of a rule mean, as SQL: the columns of `span_facts` that depend on the rule.

A rule's conditions, anchors and factors are constants there, and each attribute is read by its place in the
span's list of names. Kept as data beside the spans they would be applied by lambdas, for which a span's
attributes are copied once for every output of its rule. The text reads `batch_read`. Every name and value in
it is an adapter's own and is written as a literal; nothing that a user or a span says gets there.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analyzer.assemble.codes import (
    KV_NUMBERS,
    KV_TEXT,
    MOST_ATTEMPTS,
    PHASE_CODE,
    SOURCE_CODE,
    covers_mask,
)
from collector.engines.rules import (
    END,
    NEXT_ATTEMPT,
    START,
    Composite,
    Fact,
    IdForm,
    Instant,
    Interval,
    Kv,
    Mark,
    Role,
    Source,
    SpanRule,
    Where,
)

SLACK_NS = 50_000_000
"""How far (nanoseconds) an instant built from durations or reported as an event may lie off its span: clocks
disagree.
"""

NO_DURATION_NS = 4_000_000_000_000_000_000
"""Stands for a duration that is no number of nanoseconds (nan, inf, 1e30): far in the future, where it is
found impossible.
"""

_ALWAYS = "1"
_OWN = re.compile("«([^»]*)»")
"""Marks, while rules are compared, what may differ between rules that are otherwise of one form."""


@dataclass(frozen=True)
class _Output:
    """One thing a rule reads off a span: the row, whether the span says it, and whether it can be so."""

    row: str
    known: str
    possible: str = _ALWAYS


def meanings(rules: Mapping[int, tuple[str, SpanRule]]) -> str:
    """SELECTs, put together, of what the spans read by these rules mean; rules: (dialect, rule) by the number
    by which `batch_read` names it. Rules of one form share a SELECT: each costs the engine planning.
    """
    forms: dict[str, dict[int, list[str]]] = {}
    for number, (dialect, rule) in rules.items():
        text = _select(dialect, rule)
        forms.setdefault(_OWN.sub("«»", text), {})[number] = _OWN.findall(text)
    return "\nUNION ALL\n".join(_one_select(form, own) for form, own in forms.items())


def _one_select(form: str, own: Mapping[int, Sequence[str]]) -> str:
    numbers = ", ".join(map(str, own))
    choices = []
    for values in zip(*own.values(), strict=True):
        one = len(set(values)) == 1
        choices.append(
            values[0] if one else f"transform(rule, [{numbers}], [{', '.join(values)}], {values[0]})"
        )
    chosen = iter(choices)
    text = _OWN.sub(lambda _: next(chosen), form)
    return text.replace("WHERE ", f"WHERE rule IN ({numbers}) AND ", 1)


def _select(dialect: str, rule: SpanRule) -> str:
    """Each list comes with how it stands with each entry: 0 the span does not say it, 1 it does, 2 it says
    what cannot be.
    """
    sent = f"arrayFilter((ns, name) -> name = {literal(rule.dispatches)}, instants, events)"
    columns = {
        "dialect": f"«{literal(dialect)}»",
        "root": f"«{int(rule.root)}»",
        "calls": _first_role(rule.calls),
        "plays": _first_role(rule.plays),
        "attempt": _attempt(rule),
        "attempt_id": _attempt_id(rule),
        "ids": f"[{', '.join(_id(name, rule.id_form) for name in rule.ids)}]",
        "sent": sent if rule.dispatches else "[]",
        **_entries("intervals", [_interval(output) for output in rule.intervals]),
        **_entries("marks", [_mark(mark) for mark in rule.marks]),
        **_entries("facts", [_fact(fact) for fact in rule.facts]),
        **_entries("kv", [_kv(output) for output in rule.kv]),
    }
    said = ", ".join(f"{text} AS {name}" for name, text in columns.items())
    wanted = " OR ".join(f"({_holds(where)})" for where in rule.when) or _ALWAYS
    return (
        "SELECT trace_id, span_id, parent_id, resource_id, start_ns, end_ns, events, instants,"
        f" ingest_sequence, ingested_at, {said} FROM {{scratch:Identifier}}.batch_read WHERE ({wanted})"
    )


def literal(text: str) -> str:
    """The text as a string literal of ClickHouse."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _entries(name: str, outputs: Sequence[_Output]) -> dict[str, str]:
    rows, states = [output.row for output in outputs], [_state(output) for output in outputs]
    return {name: f"[{', '.join(rows)}]", f"{name}_said": f"[{', '.join(states)}]"}


def _state(output: _Output) -> str:
    if output.possible == _ALWAYS:
        return output.known
    return f"if({output.known}, if({output.possible}, 1, 2), 0)"


def _interval(output: Interval | Composite) -> _Output:
    if isinstance(output, Composite):
        phase, covers, source = 0, covers_mask(output.covers), Source.BOUNDED
    else:
        phase, covers, source = PHASE_CODE[output.phase], 0, output.source
    start, end = _ns(output.start), _ns(output.end)
    whole = output.start == START and output.end == END
    first, last = (start, end) if whole else (_clipped(start), _clipped(end))
    return _Output(
        f"(«{phase}», {covers}, {first}, {last}, {int(output.role)}, {SOURCE_CODE[source]},"
        f" {literal(output.reason)}, 0)",
        _all([_holds(output.where), f"{start} > 0", f"{end} > 0"]),
        _all([f"{end} >= {start}", *_on(output.start), *_on(output.end)]),
    )


def _mark(mark: Mark) -> _Output:
    ns = _ns(mark.at)
    at = ns if mark.at in (START, END) else _clipped(ns)
    return _Output(
        f"({literal(mark.name)}, {mark.rank}, {at}, {int(mark.role)})",
        _all([_holds(mark.where), f"{ns} > 0"]),
        _all(_on(mark.at)),
    )


def _fact(fact: Fact) -> _Output:
    value = literal(fact.value) if fact.value else _attribute(fact.key)
    return _Output(
        f"({literal(fact.name)}, {fact.rank}, {value}, {int(fact.role)})",
        _all([_holds(fact.where), _ALWAYS if fact.value else f"{value} != ''"]),
    )


def _kv(output: Kv) -> _Output:
    said = dict(output.text)
    words = [said.get(name, "=") for name in KV_TEXT]
    texts = [literal(word[1:]) if word.startswith("=") else _attribute(word) for word in words]
    told = {name: f"ifNull({_number(key)} * {factor!r}, nan)" for name, key, factor in output.numbers}
    numbers = [told.get(name, "nan") for name in KV_NUMBERS]
    start, end = ("end_ns" if at.anchor == "end" else "start_ns" for at in (output.start, output.end))
    own_id = _attribute(output.id) if output.id else literal("")
    return _Output(
        f"(«{literal(output.event.value)}», {own_id}, {start}, {end},"
        f" [{', '.join(texts)}], [{', '.join(numbers)}])",
        _holds(output.where),
    )


def _first_role(choices: Sequence[tuple[Where, Role]]) -> str:
    if not choices or choices[0][0] == ():
        return f"«{int(choices[0][1]) if choices else 0}»"
    pairs = [f"{_holds(where)}, {int(role)}" for where, role in choices]
    return f"multiIf({', '.join(pairs)}, 0)"


def _attempt(rule: SpanRule) -> str:
    if not rule.attempt:
        return "0"
    number = f"ifNull(toInt32OrNull({_attribute(rule.attempt)}), {rule.attempt_base})"
    return f"toUInt8(least(greatest({number} - {rule.attempt_base} + 1, 1), {MOST_ATTEMPTS}))"


def _attempt_id(rule: SpanRule) -> str:
    if rule.attempt or not rule.attempt_id:
        return literal("")
    return literal(NEXT_ATTEMPT) if rule.attempt_id == NEXT_ATTEMPT else _attribute(rule.attempt_id)


def _id(name: str, form: IdForm) -> str:
    text = _attribute(name)
    if form is IdForm.EXACT:
        return text
    chat, completion = f"replaceRegexpOne({text}, '^chatcmpl-', '')", f"substring({text}, 6)"
    if form is IdForm.ENGINE:
        chat, completion = (f"replaceRegexpOne({one}, '-[0-9a-f]{{8}}$', '')" for one in (chat, completion))
    return f"if(startsWith({text}, 'cmpl-'), replaceRegexpOne({completion}, '-[0-9]+$', ''), {chat})"


def _ns(at: Instant) -> str:
    """The instant in Unix nanoseconds, 0 where the span does not say it."""
    anchor = _anchor(at)
    if not at.plus:
        return anchor
    parts = [(_number(name), factor) for name, factor in at.plus]
    missing = " OR ".join(f"isNull({number})" for number, _ in parts)
    total = " + ".join(f"{number} * {factor!r}" for number, factor in parts)
    duration = f"ifNull(accurateCastOrNull(round({total}), 'Int64'), {NO_DURATION_NS})"
    return f"if({anchor} = 0 OR {missing}, 0, greatest(1, {anchor} + {duration}))"


def _anchor(at: Instant) -> str:
    kind, _, name = at.anchor.partition(":")
    if kind == "event":
        return f"instants[indexOf(events, {literal(name)})]"
    return f"toInt64OrZero({_attribute(name)})" if kind == "attr" else f"{kind}_ns"


def _on(at: Instant) -> list[str]:
    """That a duration inside a span is neither negative nor longer than it, that an event lies on it."""
    longest = f"end_ns - start_ns + {SLACK_NS}"
    fits = [
        f"ifNull({_number(name)}, 0) * {abs(factor)!r} BETWEEN -{SLACK_NS} AND {longest}"
        for name, factor in at.plus
    ]
    if at.anchor.startswith("event:"):
        fits.append(f"{_anchor(at)} BETWEEN start_ns - {SLACK_NS} AND end_ns + {SLACK_NS}")
    return fits


def _clipped(ns: str) -> str:
    return f"greatest(start_ns, least(end_ns, {ns}))"


def _number(name: str) -> str:
    return f"toFloat64OrNull({_attribute(name)})"


def _attribute(name: str) -> str:
    """Value of an attribute, or of 'event:NAME:ATTRIBUTE' as in `Fact.key`; '' where the span says none."""
    if name.startswith("event:"):
        return f"arrayLast(t -> t.1 = {literal(name)}, told).2"
    return f"texts[indexOf(keys, {literal(name)})]"


def _holds(where: Where) -> str:
    return _all(_one(name, value) for name, value in where)


def _one(name: str, value: str) -> str:
    if name == "@status":
        return f"toString(status) = {literal(value)}"
    if value not in ("*", ""):
        return f"{_attribute(name)} = {literal(value)}"
    if name.startswith("@event:"):
        there = f"has(events, {literal(name.removeprefix('@event:'))})"
    else:
        there = f"has(keys, {literal(name)})"
    return there if value == "*" else f"NOT {there}"


def _all(conditions: Iterable[str]) -> str:
    """That all of them hold."""
    return " AND ".join(one for one in conditions if one != _ALWAYS) or _ALWAYS
