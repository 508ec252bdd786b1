"""Spans that say the worst a rule could meet: for each rule its own names, with values nobody meant."""

import random
from collections.abc import Iterable, Iterator

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from collector.engines import ADAPTERS
from collector.engines.rules import Composite, Fact, Instant, Interval, Kv, Mark, SpanRule, Where

MS = 1_000_000
FIRST_NS, LAST_NS = 946_684_800 * 10**9, 4_102_444_800 * 10**9 - 1
"""The earliest begin and the latest end that a stored span may have."""
NOON_NS = 1_750_000_000 * 10**9

VALUES = (
    "", " ", "0", "-0", "1", "7", "+5", "007", "-3", "4012", "250", "251", "4294967296", "-2147483648",
    "9223372036854775807", "9223372036854775808", "99999999999999999999999", "0.5", ".5", "5.",
    "0.0000005", "12.25", "1e-3", "2E+1", "1e", "1e+", "1e30", "-1e30", "1e400", "-1e400", "nan", "NaN",
    "-nan", "inf", "-Inf", "Infinity", "infin", "nano", "0x10", "1_000", "1,5", " 1", "1 ", "1\n", "\t2",
    "--1", "+-1", "1\x00", "\x00", "'", "\\", "\\'", "';--", "\\n", "\n", "a\nb", "\"", "`",
    "{x:String}", "%s", "«", "»", "«1»", "event:x:y", "*", "=", "=ok", "true", "success", "部署",
    "Ω\u202eabc", "🜁", "cmpl-", "cmpl--0", "chatcmpl-", "cmpl-x-0-12345678", "chatcmpl-y-0-deadbeef",
    "cmpl-x-0\n", "CMPL-x-0", "x" * 4096, "é" * 2048,
)  # fmt: skip


def rules() -> list[SpanRule]:
    """Every rule of every adapter."""
    return [rule for adapter in ADAPTERS for rule in adapter.rules]


def export(rules: Iterable[SpanRule], seed: int) -> bytes:
    """One export with a hostile span for each of the rules, all in traces of their own."""
    rng = random.Random(seed)
    message = ExportTraceServiceRequest()
    for rule in rules:
        of_process: ResourceSpans = message.resource_spans.add()
        add(of_process.resource.attributes, "service.name", rng.choice(("", "a'b", "decode\\", "路由")))
        of_scope = of_process.scope_spans.add()
        of_scope.scope.name = rule.scope if rng.random() < 0.9 else rng.choice(VALUES[:-2])
        _fill(of_scope.spans.add(), rule, rng)
    return message.SerializeToString()


def _fill(span: Span, rule: SpanRule, rng: random.Random) -> None:
    span.trace_id, span.span_id = rng.randbytes(15) + b"\1", rng.randbytes(7) + b"\1"
    span.name, span.kind = _name(rule, rng), rule.kind if rng.random() < 0.9 else rng.randrange(6)
    span.status.code = rng.choice((0, 0, 1, 2))
    span.start_time_unix_nano, span.end_time_unix_nano = _times(rng)
    wanted = _wanted(rule)
    for key in rng.sample(sorted(wanted), rng.randint(0, len(wanted))) if rng.random() < 0.3 else wanted:
        for _ in range(rng.choice((1, 1, 1, 1, 2))):
            said = sorted(wanted[key] - {"", "*"})
            value = rng.choice(said) if said and rng.random() < 0.7 else _value(rng, span)
            add(span.attributes, key, value)
    _events(span, rule, rng)


def _name(rule: SpanRule, rng: random.Random) -> str:
    if rule.span:
        return rule.span if rng.random() < 0.95 else rule.span + rng.choice((" ", "\n", "x", "é"))
    others = [one.prefix for one in rules() if one.prefix] + [one.span for one in rules() if one.span]
    return rule.prefix + rng.choice(VALUES[:-2] if rng.random() < 0.8 else others)


def _times(rng: random.Random) -> tuple[int, int]:
    start = rng.choice((*[NOON_NS + rng.randrange(3600 * 10**9)] * 6, FIRST_NS, LAST_NS, LAST_NS - 40 * MS))
    longest = rng.choice((0, 1, MS, 40 * MS, 400 * MS, 10**13))
    return start, min(LAST_NS, start + rng.randint(0, longest))


def _value(rng: random.Random, span: Span) -> str | int | bool:
    """Often a duration that fits: what is nonsense through and through is soon passed over."""
    length = span.end_time_unix_nano - span.start_time_unix_nano
    fitting = rng.randint(0, length) / rng.choice((1, 1e3, 1e6, 1e9))
    whole = rng.choice((0, 1, -1, 5, 2**31, 2**63 - 1, -(2**63)))
    return rng.choice((rng.choice(VALUES), repr(fitting), str(int(fitting)), whole, rng.random() < 0.5))


def _events(span: Span, rule: SpanRule, rng: random.Random) -> None:
    told = _told(rule)
    names = [*told, "preempted", "resumed", "", "event", *([rule.dispatches] if rule.dispatches else [])]
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    for name in rng.choices(names, k=rng.choice((0, 1, 3, 8))):
        near = rng.choice((0, 0, 1, -1, MS, -MS, 50 * MS, -50 * MS, 50 * MS + 1, -50 * MS - 1))
        at = rng.choice((rng.randint(start, end), start + near, end + near, 0, 1, 2**63 - 1, 2**64 - 1))
        event = span.events.add(name=name, time_unix_nano=max(0, min(at, 2**64 - 1)))
        for key in told.get(name, ()):
            for _ in range(rng.choice((0, 1, 1, 2))):
                add(event.attributes, key, _value(rng, span))


def add(attributes: RepeatedCompositeFieldContainer[KeyValue], key: str, value: str | int | bool) -> None:
    """Say a thing once more."""
    pair = attributes.add(key=key)
    if isinstance(value, bool):
        pair.value.bool_value = value
    elif isinstance(value, int):
        pair.value.int_value = value
    else:
        pair.value.string_value = value


def _conditions(rule: SpanRule) -> Iterator[tuple[str, str]]:
    outputs: tuple[Interval | Composite | Mark | Fact | Kv, ...] = (
        *rule.intervals, *rule.marks, *rule.facts, *rule.kv,
    )  # fmt: skip
    wheres: list[Where] = [*rule.when, *(where for where, _ in (*rule.calls, *rule.plays))]
    for where in [*wheres, *(output.where for output in outputs)]:
        yield from where


def _instants(rule: SpanRule) -> Iterator[Instant]:
    yield from (mark.at for mark in rule.marks)
    for output in (*rule.intervals, *rule.kv):
        yield from (output.start, output.end)


def _wanted(rule: SpanRule) -> dict[str, set[str]]:
    """Attributes that the rule reads, with the values it asks for."""
    names = {*rule.ids, rule.attempt, rule.attempt_id}
    names |= {name for at in _instants(rule) for name, _ in at.plus}
    names |= {fact.key for fact in rule.facts}
    for output in rule.kv:
        names |= {output.id, *(key for _, key in output.text if not key.startswith("="))}
        names |= {key for _, key, _ in output.numbers}
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, value in _conditions(rule):
        found.setdefault(name, set()).add(value)
    return {name: found[name] for name in sorted(found) if name and not name.startswith(("@", "event:"))}


def _told(rule: SpanRule) -> dict[str, list[str]]:
    """Events that the rule reads, with the attributes it reads of them."""
    keys = [name for name, _ in _conditions(rule)] + [fact.key for fact in rule.facts]
    found: dict[str, list[str]] = {
        name.removeprefix("@event:"): [] for name in keys if name.startswith("@event:")
    }
    found |= {
        at.anchor.removeprefix("event:"): [] for at in _instants(rule) if at.anchor.startswith("event:")
    }
    for key in keys:
        if key.startswith("event:"):
            _, event, name = key.split(":", 2)
            found.setdefault(event, []).append(name)
    return found
