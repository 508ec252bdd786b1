"""What a router told of a request's way comes through to REST, whatever form it gave it."""

import pytest

from analyzer.api.routing import routing
from analyzer.assemble.assembler import Assembler
from tests.assemble.otlp import clear
from tests.engines.emitter import T0, Emitter

DEADLINE = T0 + 5 * 10**9


@pytest.mark.parametrize("candidates", [["p:1", "p:2"], '["p:1", "p:2"]'])
def test_the_route_receipt_the_admission_wait_and_the_deadline_are_carried_through(client, store, candidates):
    clear(store)
    out = Emitter()
    told = {
        "pd.request.id": "r-1", "pd.outcome": "ok", "pd.deadline_unix_nano": DEADLINE,
        "pd.route.candidates": candidates, "pd.route.rejected": "p:3", "pd.route.reason": "prefix hit",
        "pd.route.fallback": "round robin",
    }  # fmt: skip
    root = out.span("router", "pd.request", 0, 90, told, events=[("first_token", 50, {})])
    out.span("router", "pd.router_queue", 0, 12, {"pd.router_queue.admission_ms": 7.5}, parent=root)
    store.insert_traces([out.body()])
    Assembler(store).catch_up()

    answer = client.get("/api/v1/requests/r-1").json()

    assert answer["routing"] == {
        "candidates": ["p:1", "p:2"], "rejected": ["p:3"], "reason": "prefix hit", "fallback": "round robin",
        "admission_wait": 0.0075, "deadline": "2026-09-21T14:13:25.000000000Z",
    }  # fmt: skip
    assert answer["error_type"] is None
    clear(store)


def test_a_request_whose_router_tells_nothing_has_no_routing(client, store):
    clear(store)
    out = Emitter()
    out.span("router", "pd.request", 0, 90, {"pd.request.id": "r-2", "pd.outcome": "error"})
    store.insert_traces([out.body()])
    Assembler(store).catch_up()

    assert client.get("/api/v1/requests/r-2").json()["routing"] is None
    clear(store)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("admission_ms", "soon"), ("admission_ms", "-1"), ("admission_ms", "nan"), ("admission_ms", "1e300"),
        ("deadline_ns", "0"), ("deadline_ns", "tomorrow"), ("deadline_ns", "9" * 40),
    ],
)  # fmt: skip
def test_what_is_no_time_is_not_told(name, value):
    assert routing({name: value}) is None


@pytest.mark.parametrize("value", ["otlp:array:%%%", "otlp:array:AAAA", "[1,", '{"a": 1}', "p:1"])
def test_a_list_that_is_none_is_one_value(value):
    told = routing({"route_candidates": value})

    assert told is not None
    assert told.candidates == [value]
