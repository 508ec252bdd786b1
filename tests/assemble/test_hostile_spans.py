"""Every rule of every adapter, in one statement, reads the worst of spans as the plain reading does."""

import re
from collections import Counter

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from analyzer.assemble.codes import KV_NUMBERS, KV_TEXT, PHASE_CODE, PREEMPTED_CODE, SOURCE_CODE, covers_mask
from analyzer.assemble.meaning import meanings
from analyzer.assemble.oracle_attempts import _name as attempt_name
from analyzer.assemble.oracle_attempts import _number as attempt_number
from analyzer.assemble.oracle_reading import Stretch, as_float, read_by_rule
from analyzer.assemble.oracle_rules import Rules, first_role, holds, said
from analyzer.assemble.oracle_spans import Span, read_spans
from analyzer.assemble.scratch import Scratch
from analyzer.assemble.span_reader import SpanReader
from collector.engines import ADAPTERS
from collector.engines.rules import IdForm, Kv, Role, SpanRule
from collector.store import Store
from tests.assemble.hostile_spans import MS, NOON_NS, add, export, rules

Said = dict[str, object]


def read(store: Store, body: bytes) -> dict[bytes, dict[str, object]]:
    """What the store reads off the spans of a body, by span id."""
    store.insert_traces([body])
    scratch = Scratch(store)
    scratch.clear()
    after = store.last_sequence - 1
    SpanReader(scratch, ADAPTERS).read(after, store.last_sequence)
    found = store.rows("SELECT * FROM span_facts WHERE ingest_sequence > {after:UInt64}", {"after": after})
    return {bytes(row["span_id"]): row for row in found}


def stored(row: dict[str, object], role: Role) -> Said:
    mine = [[tuple(one.values()) for one in row[name]] for name in ("intervals", "marks", "facts")]
    return {
        **{name: row[name] for name in ("dialect", "root", "calls", "plays", "attempt", "impossible")},
        "attempt_id": str(row["attempt_id"]),
        "ids": [str(one) for one in row["ids"]],
        "intervals": Counter(
            (i[0], i[1], i[2], i[3], i[5], i[6], i[7]) for i in mine[0] if i[4] in (0, role)
        ),
        "marks": Counter(mark[:3] for mark in mine[1] if mark[3] in (0, role)),
        "facts": Counter(fact[:3] for fact in mine[2] if fact[3] in (0, role)),
        "kv": [repr(tuple(one.values())) for one in row["kv"]],
    }


def plain(span: Span, rule: SpanRule, dialect: str, role: Role) -> Said:
    reading = read_by_rule(span, ADAPTERS[0], rule, role, 0)
    return {
        "dialect": dialect,
        "root": int(rule.root),
        "calls": int(first_role(span, rule.calls)),
        "plays": int(first_role(span, rule.plays)),
        "attempt": attempt_number(span, rule),
        "impossible": reading.impossible,
        "attempt_id": attempt_name(span, rule),
        "ids": [one for name in rule.ids if (one := named(span.attributes.get(name, ""), rule.id_form))],
        "intervals": Counter(map(_interval, reading.intervals)),
        "marks": Counter(reading.marks),
        "facts": Counter(reading.facts),
        "kv": [repr(hand_off(span, output)) for output in rule.kv if holds(output.where, span)],
    }


def _interval(one: Stretch) -> tuple[object, ...]:
    time = one.time
    phase = PHASE_CODE[time.phase] if time.phase else PREEMPTED_CODE if time.preempted else 0
    covers = covers_mask(time.covers)
    return phase, covers, time.start_ns, time.end_ns, SOURCE_CODE[one.source], time.reason, time.attempt


def named(text: str, form: IdForm) -> str:
    """The request's id in an engine's id of it."""
    if form is IdForm.EXACT:
        return text
    suffix = r"-[0-9a-f]{8}\Z" if form is IdForm.ENGINE else r"\Z"
    if text.startswith("cmpl-"):
        return re.sub(r"-[0-9]+\Z", "", re.sub(suffix, "", text.removeprefix("cmpl-")))
    return re.sub(suffix, "", text.removeprefix("chatcmpl-"))


def hand_off(span: Span, output: Kv) -> tuple[object, ...]:
    """What a span says of a hand-off of KV."""
    words, numbers = dict(output.text), {name: (key, by) for name, key, by in output.numbers}
    texts = [
        word[1:] if (word := words.get(name, "=")).startswith("=") else said(span, word) for name in KV_TEXT
    ]
    found = []
    for name in KV_NUMBERS:
        key, by = numbers.get(name, ("", 1.0))
        value = as_float(span.attributes.get(key, "")) if key else None
        found.append(float("nan") if value is None else value * by)
    start, end = (span.end_ns if at.anchor == "end" else span.start_ns for at in (output.start, output.end))
    own = span.attributes.get(output.id, "") if output.id else ""
    return output.event.value, own, start, end, texts, found


def wrong(store: Store, body: bytes) -> dict[str, object]:
    """Where the store and the plain reading differ: (span name, role, what) → both."""
    of = Rules(ADAPTERS)
    got, found = read(store, body), {}
    for span in read_spans([body]):
        ruled = of.of(span)
        row = got.pop(span.span_id, None)
        if ruled is None or row is None:
            if (ruled is None) != (row is None):
                found[span.name] = (row, ruled)
            continue
        for role in Role:
            mine, theirs = stored(row, role), plain(span, ruled[1], ruled[0].name, role)
            found |= {
                f"{span.name} {role.name} {what}": (mine[what], theirs[what], span)
                for what in theirs
                if mine[what] != theirs[what]
            }
    return found | {f"unasked {key!r}": row for key, row in got.items()}


# A failing example names the seed, so nothing is shrunk: every example is a run of the store.
@settings(
    deadline=None,
    derandomize=True,
    max_examples=6,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(0, 2**48))
def test_what_a_span_says_is_read_as_plainly_meant_whatever_it_says(store: Store, seed: int) -> None:
    assert wrong(store, export(rules() * 2, seed)) == {}


def test_all_rules_together_are_one_statement_that_the_engine_takes(store: Store) -> None:
    """At half of what the engine takes by default there is time to think of something else."""
    got = read(store, export(rules() * 4, 0))

    found = store.query("SELECT DISTINCT rule FROM batch_read")
    assert sorted(row[0] for row in found) == list(range(1, len(rules()) + 1))
    assert len({row["dialect"] for row in got.values()}) == len([one for one in ADAPTERS if one.rules])
    limit = store.query("SELECT toUInt64(value) FROM system.settings WHERE name = 'max_query_size'")[0][0]
    every = dict(enumerate(((adapter.name, rule) for adapter in ADAPTERS for rule in adapter.rules), start=1))
    assert len(meanings(every)) < limit / 2


def test_of_a_name_that_an_event_says_twice_the_first_counts(store: Store) -> None:
    """As on a span; of several events of one name the last one that says it does."""
    message = ExportTraceServiceRequest()
    out = message.resource_spans.add().scope_spans.add().spans.add(
        trace_id=b"t" * 16, span_id=b"s" * 8, name="http_request", start_time_unix_nano=NOON_NS,
        end_time_unix_nano=NOON_NS + MS,
    )  # fmt: skip
    for key, value in (("method", "POST"), ("uri", "/generate"), ("uri", "/health")):
        add(out.attributes, key, value)
    for urls in (("http://a", "http://b"), ("http://c", "http://d"), ()):
        event = out.events.add(name="Sending concurrent requests", time_unix_nano=NOON_NS)
        for url in urls:
            add(event.attributes, "prefill_url", url)

    (row,) = read(store, message.SerializeToString()).values()

    facts = {(fact["name"], fact["value"]) for fact in row["facts"]}
    assert {("route", "/generate"), ("prefill_worker", "http://c")} <= facts
