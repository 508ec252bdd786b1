"""A tap before a router that begins a trace of its own: joined by what both bear, else kept apart."""

from itertools import permutations

import pytest

from collector.store import Store
from tests.engines.assembled import assemble, plausible
from tests.engines.emitter import MS, Emitter
from tests.engines.test_sglang import SENT, leg


@pytest.fixture
def store(open_store: Store) -> Store:
    return open_store


def tap(out: Emitter, at: float, name: str, answer: str = "", upstream: str = "tap") -> None:
    """The tap's own span: the client is served from `at` to 120 ms later."""
    said = {
        "pd.request.id": name,
        "pd.outcome": "ok",
        "http.response.status_code": 200,
        "pd.stream.stalled_ms": 0.0,
    }
    said |= {"pd.answer.id": answer} if answer else {}
    events = [("first_token", at + 76, {}), ("last_token", at + 118, {})]
    out.span(upstream, "pd.request", at, at + 120, said, events=events)


def router(out: Emitter, at: float, name: str, room: int) -> None:
    """sglang-router 0.3.2: a root of its own, which ends late, over both engines' legs."""
    about = {"method": "POST", "uri": "/v1/chat/completions", "request_id": name, "status_code": "200"}
    events = [(SENT, at + 2, {"prefill_url": "http://p:1", "decode_url": "http://d:1"})]
    root = out.span("smg", "http_request", at + 1, at + 3500, about, scope="smg", events=events)
    leg(out, "prefill", room, root, at=at + 2)
    leg(out, "decode", room, root, at=at + 2)


def test_the_id_that_the_tap_sent_joins_the_routers_trace(store):
    out = Emitter()
    tap(out, 0, "r-1")
    router(out, 0, "r-1", 0xA)

    (row,) = assemble(store, [out.body()])

    assert plausible(row)
    assert (row["ttft_ns"], row["e2e_ns"], row["outcome"]) == (76 * MS, 120 * MS, "ok")
    assert (row["decode_worker"], row["output_tokens"], row["system"]) == ("d:1", 8, "smg")
    assert row["joined_by"] == ("request_id", "trace_id")


def test_two_at_once_under_one_client_id_are_told_apart_by_the_answers_id(store):
    out = Emitter()
    for number in (1, 2):
        tap(out, number * 10, "mine", answer=f"{number:032x}")
        router(out, number * 10, "mine", number)

    rows = assemble(store, [out.body()])

    assert [(row["e2e_ns"], row["decode_worker"], row["output_tokens"]) for row in rows] == [
        (120 * MS, "d:1", 8)
    ] * 2
    for row in rows:
        began = {interval[2] for interval in row["intervals"] if interval[0] == "prefill_compute"}
        assert began == {row["started_at"] + 22 * MS}


def apart(*told) -> list[bytes]:
    """Each told by an export of its own."""
    bodies = []
    for tell, *about in told:
        out = Emitter()
        tell(out, *about)
        bodies.append(out.body())
    return bodies


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 2, 0), (1, 3, 0, 2)])
def test_two_at_once_under_one_id_that_nothing_tells_apart_stay_apart(store, order):
    parts = apart((tap, 0, "m"), (router, 0, "m", 1), (tap, 10, "m"), (router, 10, "m", 2))

    rows = assemble(store, [parts[place] for place in order], stepwise=True)

    assert [(row["system"], row["spans"]) for row in rows] == [
        ("native", 1),
        ("smg", 26),
        ("native", 1),
        ("smg", 26),
    ]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_whatever_comes_first_tap_and_router_are_one(store, order):
    parts = apart((tap, 0, "m"), (router, 0, "m", 1), (tap, 5000, "m"))

    rows = assemble(store, [parts[place] for place in order], stepwise=True)

    assert [(row["system"], row["spans"]) for row in rows] == [("smg", 27), ("native", 1)]


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_the_answers_id_joins_a_frontend_that_began_its_own_trace(store, order):
    def frontend(out: Emitter, at: float) -> None:
        said = {
            "request_id": "u-1",
            "uri": "/v1/completions",
            "output_tokens": "8",
            "request.outcome": "success",
        }
        out.span("dynamo-frontend", "http-request", at + 1, at + 110, said)

    parts = apart((tap, 0, "m", "u-1"), (frontend, 0))

    (row,) = assemble(store, [parts[place] for place in order], stepwise=True)

    assert (row["system"], row["output_tokens"], row["e2e_ns"]) == ("dynamo", 8, 120 * MS)


def test_one_after_the_other_under_one_client_id_each_has_its_own_router(store):
    out = Emitter()
    for at in (0, 5000):
        tap(out, at, "mine")
        router(out, at, "mine", at + 1)

    rows = assemble(store, [out.body()])

    assert [(row["system"], row["e2e_ns"], row["output_tokens"]) for row in rows] == [
        ("smg", 120 * MS, 8)
    ] * 2


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 2, 0), (1, 3, 0, 2)])
def test_records_of_two_upstreams_that_answer_with_one_id_go_to_neither(store, order):
    """Two taps, two Dynamos whose ids collide: whose request trace it is, only an id of one request tells."""
    parts = []
    for upstream, at in (("tap-a", 0), ("tap-b", 1)):
        out = Emitter()
        tap(out, at, f"of-{upstream}", answer="u-1", upstream=upstream)
        parts.append(out.body())
        out = Emitter()
        record = {"dynamo.trace.request_id": "u-1", "dynamo.trace.output_tokens": 7 + at}
        out.span(f"dynamo-{upstream}", "dynamo.request.trace", at + 2, at + 100, record)
        parts.append(out.body())

    rows = assemble(store, [parts[place] for place in order], stepwise=True)

    taps = [row for row in rows if row["system"] == "native"]
    assert [(row["request_id"], row["output_tokens"], row["spans"]) for row in taps] == [
        ("of-tap-a", None, 1),
        ("of-tap-b", None, 1),
    ]
