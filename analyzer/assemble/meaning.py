"""What the spans of a rule mean, as SQL: the columns of `span_facts` that depend on the rule.

A rule's conditions, anchors and factors are constants there, and each attribute is read by its place in the
span's list of names. Kept as data beside the spans they would be applied by lambdas, for which a span's
attributes are copied once for every output of its rule. The text reads `batch_read`. Every name and value in
it is an adapter's own and is written as a literal; nothing that a user or a span says gets there.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyzer.assemble.codes import (
    KV_NUMBERS,
    KV_TEXT,
    MOST_ATTEMPTS,
    PHASE_CODE,
    SOURCE_CODE,
    covers_mask,
)
from analyzer.assemble.span_expressions import (
    ALWAYS,
    SLACK_NS,
    all_of,
    attribute,
    clipped,
    holds,
    literal,
    nanoseconds,
    numeric,
    on_span,
)
from collector.engines.rules import (
    EACH,
    END,
    NEXT_ATTEMPT,
    START,
    Composite,
    Fact,
    IdForm,
    Interval,
    Kv,
    Mark,
    Role,
    Source,
    SpanRule,
    Where,
)

_OWN = re.compile("«([^»]*)»")
"""Marks, while rules are compared, what may differ between rules that are otherwise of one form."""


@dataclass(frozen=True)
class _Output:
    """One thing a rule reads off a span: the row, whether the span says it, and whether it can be so."""

    row: str
    known: str
    possible: str = ALWAYS


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
        **_marks(rule.marks),
        **_entries("facts", [_fact(fact) for fact in rule.facts]),
        **_entries("kv", [_kv(output) for output in rule.kv]),
    }
    said = ", ".join(f"{text} AS {name}" for name, text in columns.items())
    wanted = " OR ".join(f"({holds(where)})" for where in rule.when) or ALWAYS
    return (
        "SELECT trace_id, span_id, parent_id, resource_id, start_ns, end_ns, events, instants,"
        f" ingest_sequence, ingested_at, {said} FROM {{scratch:Identifier}}.batch_read WHERE ({wanted})"
    )


def _entries(name: str, outputs: Sequence[_Output]) -> dict[str, str]:
    rows, states = [output.row for output in outputs], [_state(output) for output in outputs]
    return {name: f"[{', '.join(rows)}]", f"{name}_said": f"[{', '.join(states)}]"}


def _state(output: _Output) -> str:
    if output.possible == ALWAYS:
        return output.known
    return f"if({output.known}, if({output.possible}, 1, 2), 0)"


def _interval(output: Interval | Composite) -> _Output:
    if isinstance(output, Composite):
        phase, covers, source = 0, covers_mask(output.covers), Source.BOUNDED
    else:
        phase, covers, source = PHASE_CODE[output.phase], 0, output.source
    start, end = nanoseconds(output.start), nanoseconds(output.end)
    whole = output.start == START and output.end == END
    first, last = (start, end) if whole else (clipped(start), clipped(end))
    return _Output(
        f"(«{phase}», {covers}, {first}, {last}, {int(output.role)}, {SOURCE_CODE[source]},"
        f" {literal(output.reason)}, 0)",
        all_of([holds(output.where), f"{start} > 0", f"{end} > 0"]),
        all_of([f"{end} >= {start}", *on_span(output.start), *on_span(output.end)]),
    )


def _mark(mark: Mark) -> _Output:
    ns = nanoseconds(mark.at)
    at = ns if mark.at in (START, END) else clipped(ns)
    return _Output(
        f"({literal(mark.name)}, {mark.rank}, {at}, {int(mark.role)})",
        all_of([holds(mark.where), f"{ns} > 0"]),
        all_of(on_span(mark.at)),
    )


def _marks(marks: Sequence[Mark]) -> dict[str, str]:
    """The marks of a rule; of each that stands for every event of a name, as many as there are."""
    columns = _entries("marks", [_mark(mark) for mark in marks if not mark.at.anchor.startswith(EACH)])
    for mark in marks:
        if mark.at.anchor.startswith(EACH):
            event = literal(mark.at.anchor.removeprefix(EACH))
            wanted = all_of([f"name = {event}", "ns > 0", holds(mark.where)])
            told = f"arrayFilter((ns, name) -> {wanted}, instants, events)"
            row = f"({literal(mark.name)}, {mark.rank}, {clipped('ns')}, {int(mark.role)})"
            state = f"if(ns BETWEEN start_ns - {SLACK_NS} AND end_ns + {SLACK_NS}, 1, 2)"
            columns["marks"] = f"arrayConcat({columns['marks']}, arrayMap(ns -> {row}, {told}))"
            columns["marks_said"] = f"arrayConcat({columns['marks_said']}, arrayMap(ns -> {state}, {told}))"
    return columns


def _fact(fact: Fact) -> _Output:
    value = literal(fact.value) if fact.value else attribute(fact.key)
    return _Output(
        f"({literal(fact.name)}, {fact.rank}, {value}, {int(fact.role)})",
        all_of([holds(fact.where), ALWAYS if fact.value else f"{value} != ''"]),
    )


def _kv(output: Kv) -> _Output:
    said = dict(output.text)
    words = [said.get(name, "=") for name in KV_TEXT]
    texts = [literal(word[1:]) if word.startswith("=") else attribute(word) for word in words]
    told = {name: f"ifNull({numeric(key)} * {factor!r}, nan)" for name, key, factor in output.numbers}
    numbers = [told.get(name, "nan") for name in KV_NUMBERS]
    start, end = ("end_ns" if at.anchor == "end" else "start_ns" for at in (output.start, output.end))
    own_id = attribute(output.id) if output.id else literal("")
    return _Output(
        f"(«{literal(output.event.value)}», {own_id}, {start}, {end},"
        f" [{', '.join(texts)}], [{', '.join(numbers)}])",
        holds(output.where),
    )


def _first_role(choices: Sequence[tuple[Where, Role]]) -> str:
    if not choices or choices[0][0] == ():
        return f"«{int(choices[0][1]) if choices else 0}»"
    pairs = [f"{holds(where)}, {int(role)}" for where, role in choices]
    return f"multiIf({', '.join(pairs)}, 0)"


def _attempt(rule: SpanRule) -> str:
    if not rule.attempt:
        return "0"
    number = f"ifNull(toInt32OrNull({attribute(rule.attempt)}), {rule.attempt_base})"
    return f"toUInt8(least(greatest({number} - {rule.attempt_base} + 1, 1), {MOST_ATTEMPTS}))"


def _attempt_id(rule: SpanRule) -> str:
    if rule.attempt or not rule.attempt_id:
        return literal("")
    return literal(NEXT_ATTEMPT) if rule.attempt_id == NEXT_ATTEMPT else attribute(rule.attempt_id)


def _id(name: str, form: IdForm) -> str:
    text = attribute(name)
    if form is IdForm.EXACT:
        return text
    chat, completion = f"replaceRegexpOne({text}, '^chatcmpl-', '')", f"substring({text}, 6)"
    if form is IdForm.ENGINE:
        chat, completion = (f"replaceRegexpOne({one}, '-[0-9a-f]{{8}}$', '')" for one in (chat, completion))
    return f"if(startsWith({text}, 'cmpl-'), replaceRegexpOne({completion}, '-[0-9]+$', ''), {chat})"
