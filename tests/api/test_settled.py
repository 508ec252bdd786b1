"""When an answer may call itself settled."""

import math
import time
from collections.abc import Callable

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import EVERYTHING, Scope
from analyzer.verdict.desk import SETTLED_AFTER_S, Desk
from collector.store.store import Store
from tests.api.rows import NOON_NS, a_request, insert, key_of

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


@pytest.mark.parametrize(("after_s", "settled"), [(SETTLED_AFTER_S + 1, True), (SETTLED_AFTER_S - 1, False)])
def test_what_was_acknowledged_for_a_while_after_its_end_must_be_stored(
    after_s: float, settled: bool, ask: Ask
) -> None:
    assert ask(stored_until=HOUR_FROM_NOON.to_ns / SECOND + after_s) is settled


@pytest.mark.parametrize(
    ("stored_until", "quiet_s", "settled"),
    [(math.inf, math.inf, True), (math.inf, 1.0, False), (NOON_NS / SECOND, math.inf, False)],
    ids=["nothing comes", "something came a moment ago", "something waits to be stored"],
)
def test_a_window_that_goes_on_is_settled_when_nothing_comes(
    stored_until: float, quiet_s: float, settled: bool, ask: Ask
) -> None:
    assert ask(EVERYTHING, stored_until, quiet_s) is settled
