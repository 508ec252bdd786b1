"""When an answer may call itself settled."""

import math
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from analyzer.assemble.assembler import Assembler
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import EVERYTHING, Scope
from analyzer.verdict.desk import SETTLED_AFTER_S, Desk
from collector.store.store import Store
from tests.api.rows import NOON, NOON_NS, a_request, insert, key_of
from tests.assemble.otlp import body
from tests.assemble.test_arrival import leg_alone

SECOND = 10**9
HOUR_FROM_NOON = Scope(NOON_NS, NOON_NS + 3600 * SECOND)
Ask = Callable[..., bool]


@pytest.fixture
def ask(store: Store) -> Ask:
    """Ask about a window; by default all that was stored until now is in its requests, and more is coming."""
    taken = store.last_sequence

    def settled(
        scope: Scope = HOUR_FROM_NOON, stored_until: float | None = None, quiet_s: float = 0.0
    ) -> bool:
        until = time.time() - 1 if stored_until is None else stored_until
        desk = Desk(store, lambda: store.last_sequence, lambda: taken, lambda: until, lambda: quiet_s)
        return desk.ask(scope, Objectives()).settled

    return settled


def _quiet(store: Store, assembler: Assembler) -> Desk:
    def taken() -> int:
        return assembler.progress().taken

    return Desk(
        store, lambda: store.last_sequence, taken, lambda: math.inf, lambda: math.inf, assembler.judged
    )


def _span_comes(store: Store, trace: str, seconds: float) -> None:
    export = ExportTraceServiceRequest()
    span = export.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.name = key_of(trace), key_of(trace)[:8], "pd.request"
    span.start_time_unix_nano = span.end_time_unix_nano = NOON_NS + round(seconds * SECOND)
    store.insert_traces([export.SerializeToString()])


def test_a_window_that_ended_is_settled_while_others_receive_spans(ask: Ask, store: Store) -> None:
    assert ask()
    _span_comes(store, "a request of the next hour", 4000)
    assert ask()


def test_it_is_not_while_one_of_its_spans_is_not_in_its_request(ask: Ask, store: Store) -> None:
    _span_comes(store, "a request", 3599)
    assert not ask()


def test_nor_while_a_later_span_of_one_of_its_requests_is_not(ask: Ask, store: Store) -> None:
    insert(store, a_request(3590, name="long"))
    _span_comes(store, "trace long", 4000)
    assert not ask()


def test_nor_while_a_span_of_its_second_trace_is_not(ask: Ask, store: Store) -> None:
    insert(store, a_request(3590, name="both"))
    store.insert(
        "identity",
        [[(NOON_NS + 3600 * SECOND) // SECOND // 600 * 600, 0, key_of("decode both"), key_of("both"), 1]],
        ["bucket", "kind", "alias", "request_key", "version"],
    )
    _span_comes(store, "decode both", 4000)
    assert not ask()


@pytest.mark.parametrize(("seconds", "settled"), [(3602, False), (4000, True)])
def test_nor_while_a_new_trace_may_be_a_leg_of_one_of_its_requests(
    seconds: float, settled: bool, ask: Ask, store: Store
) -> None:
    """Where requests are of several traces, joined by their ids, the leg of one begins after the window."""
    insert(store, a_request(3500, name="an earlier one", joined_by=["trace_id", "request_id"]))
    _span_comes(store, "decode of the last one", seconds)
    assert ask() is settled


def test_nor_of_a_request_that_was_first_seen_by_a_later_leg(ask: Ask, store: Store) -> None:
    insert(store, a_request(3590, name="long", first_bucket=NOON + timedelta(minutes=65)))
    _span_comes(store, "trace long", 4000)
    assert not ask()


def test_nor_while_legs_wait_for_their_request_span(store: Store) -> None:
    """They are read, and no row shows them: it will, though nothing more may come."""
    now = time.time_ns()
    store.insert_traces([body([leg_alone(7, now - 10 * SECOND)])])
    assembler = Assembler(store, grace_s=3600, review_every_s=0)
    assembler.catch_up()
    scope = Scope(now - 60 * SECOND, now + SECOND)

    desk = _quiet(store, assembler)
    assert not desk.ask(scope, Objectives()).settled

    assembler._grace_s = 0
    assembler.catch_up()
    assert desk.ask(scope, Objectives()).settled
    assert store.query("SELECT count() FROM requests FINAL WHERE tombstone = 0") == [(1,)]


def test_an_answer_is_not_remembered_over_what_time_alone_changed(store: Store) -> None:
    judged = [0]
    desk = Desk(store, lambda: 0, lambda: 0, lambda: math.inf, lambda: math.inf, lambda: judged[0])
    first = desk.ask(HOUR_FROM_NOON, Objectives())
    assert desk.ask(HOUR_FROM_NOON, Objectives()) is first
    judged[0] += 1
    assert desk.ask(HOUR_FROM_NOON, Objectives()) is not first


@pytest.mark.parametrize(("ended_s_ago", "settled"), [(10, False), (30, True)])
def test_what_other_collectors_hold_is_given_time_to_be_stored(
    ended_s_ago: int, settled: bool, store: Store
) -> None:
    to_ns = time.time_ns() - ended_s_ago * SECOND
    desk = Desk(store, lambda: 0, lambda: 0, lambda: math.inf, lambda: 8.0, behind_s=10.0)
    assert desk.ask(Scope(to_ns - 60 * SECOND, to_ns), Objectives()).settled is settled


@pytest.mark.parametrize(("after_s", "settled"), [(SETTLED_AFTER_S + 1, True), (SETTLED_AFTER_S - 1, False)])
def test_what_was_acknowledged_for_a_while_after_its_end_must_be_stored(
    after_s: float, settled: bool, ask: Ask
) -> None:
    assert ask(stored_until=HOUR_FROM_NOON.to_ns / SECOND + after_s) is settled


def test_what_was_acknowledged_before_the_question_must_be_stored_if_the_window_ended_lately(
    store: Store,
) -> None:
    """Late spans are acknowledged and wait; who asks again gets them, though more of others' comes."""
    stored_until = time.time() - 1
    desk = Desk(store, lambda: 0, lambda: 0, lambda: stored_until, lambda: 0.0)

    def ended(seconds_ago: float) -> Scope:
        to_ns = round((time.time() - seconds_ago) * SECOND)
        return Scope(to_ns - 60 * SECOND, to_ns)

    lately = ended(20)
    assert not desk.ask(lately, Objectives()).settled
    assert desk.ask(ended(3600), Objectives()).settled

    stored_until = time.time()
    assert desk.ask(lately, Objectives()).settled


@pytest.mark.parametrize(
    ("stored_until", "quiet_s", "settled"),
    [(math.inf, math.inf, True), (math.inf, 1.0, False), (NOON_NS / SECOND, math.inf, False)],
    ids=["nothing comes", "something came a moment ago", "something waits to be stored"],
)
def test_a_window_that_goes_on_is_settled_when_nothing_comes(
    stored_until: float, quiet_s: float, settled: bool, ask: Ask
) -> None:
    assert ask(EVERYTHING, stored_until, quiet_s) is settled
