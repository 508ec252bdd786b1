"""LMCache's MP server in the shape of its source: a trace of its own, joined to the engines' by session."""

import pytest
from opentelemetry.trace import SpanKind

from collector.store import Store
from tests.engines.assembled import assemble, plausible, unexplained
from tests.engines.emitter import Emitter, at_ms

SCOPE = "lmcache_mp.server"


@pytest.fixture
def store(open_store: Store) -> Store:
    return open_store


def server(out: Emitter, session: str, at: float = 0, spans: tuple[str, ...] = ("mp.retrieve",)) -> None:
    said = {"session_id": session, "device": "cuda:0"}
    root = out.span("lmcache", "request", at, at + 20, said, scope=SCOPE)
    for name in spans:
        span = out.span("lmcache", name, at + 2, at + 12, said, parent=root, scope=SCOPE)
        out.span("lmcache", f"{name}.gpu_copy", at + 3, at + 11, said, parent=span, scope=SCOPE)
        told = {"nbytes": 4096, "elapsed_seconds": 0.1, "session_id": session}
        out.span("lmcache", "transfer.staging", at + 3, at + 103, told, parent=span, scope=SCOPE)


def engine(out: Emitter, request_id: str, start: float = 0) -> None:
    attributes = {
        "gen_ai.request.id": request_id, "gen_ai.latency.time_to_first_token": 0.04,
        "gen_ai.latency.time_in_model_prefill": 0.01, "gen_ai.latency.time_in_model_decode": 0.03,
        "gen_ai.usage.completion_tokens": 5,
    }  # fmt: skip
    out.span(
        "vllm-decode", "llm_request", start, start + 80, attributes, kind=SpanKind.SERVER, instance="d:1"
    )


@pytest.mark.parametrize("session", ["cmpl-abc-0", "cmpl-abc-0-8a902907"])
def test_the_session_joins_the_servers_trace_to_the_engines_request(store, session):
    """The session is the engine's internal id, with or without the suffix that differs between legs."""
    out = Emitter()
    engine(out, "cmpl-abc-0")
    server(out, session, spans=("mp.lookup_prefetch", "mp.retrieve"))

    (row,) = assemble(store, [out.body()])

    assert unexplained([out.body()]) == {}
    assert plausible(row)
    assert row["joined_by"] == ("request_id", "trace_id")
    assert [i[0] for i in row["intervals"] if i[0] == "kv_import"] == ["kv_import"]


def test_retrieve_imports_and_store_publishes(store):
    out = Emitter()
    engine(out, "cmpl-abc-0")
    server(out, "cmpl-abc-0", spans=("mp.store", "mp.retrieve"))

    assemble(store, [out.body()])

    ((published, imported, connector),) = store.query(
        "SELECT published_ns, imported_ns, connector FROM transfers FINAL"
    )
    assert (at_ms(published), at_ms(imported), connector) == (12, 12, "lmcache")


def test_transfer_spans_laid_back_to_back_give_no_time(store):
    out = Emitter()
    engine(out, "cmpl-abc-0")
    server(out, "cmpl-abc-0")

    (row,) = assemble(store, [out.body()])

    assert row["phase_ns"][7] == 10 * 10**6
    assert row["phase_ns"][5] == 0


def test_two_sessions_stay_two_requests_and_an_unjoined_one_is_no_request(store):
    out = Emitter()
    engine(out, "cmpl-abc-0")
    engine(out, "cmpl-def-0", start=5)
    server(out, "cmpl-abc-0")
    server(out, "cmpl-def-0", at=5)
    server(out, "cmpl-nobody-0", at=9)

    rows = assemble(store, [out.body()])

    assert sorted(str(row["request_id"]) for row in rows) == ["cmpl-abc-0", "cmpl-def-0"]
    assert {row["spans"] for row in rows} == {5}


def test_a_span_named_request_without_a_session_is_not_lmcaches():
    out = Emitter()
    out.span("app", "request", 0, 1)

    assert set(unexplained([out.body()])) == {("app", "request")}
