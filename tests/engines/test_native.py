"""The convention's own spans: what rides along on a phase as a part of it."""

import pytest

from collector.phases import TTFT_PARTS, Phase
from tests.engines.assembled import assemble
from tests.engines.emitter import MS, Emitter

PHASES = [str(phase) for phase in Phase]


@pytest.mark.parametrize(("told", "took"), [(700.0, 700 * MS), (None, 0)])
def test_tokenising_within_the_routers_queue_is_known_and_counts_as_the_queue(open_store, told, took):
    out = Emitter()
    part = {} if told is None else {"pd.router_queue.tokenize_ms": told}
    sent = [("first_token", 2000, {}), ("last_token", 2900, {})]
    root = out.span("router", "pd.request", 0, 3000, {"pd.request.id": "a", "pd.outcome": "ok"}, events=sent)
    out.span("router", "pd.router_queue", 0, 1000, {"pd.request.id": "a", **part}, parent=root)

    (row,) = assemble(open_store, [out.body()])

    assert row["phase_ns"][PHASES.index("tokenize")] == took
    assert row["exposed_ns"][TTFT_PARTS.index("router_queue")] == 1000 * MS


def test_the_first_token_that_the_tap_sent_counts_not_the_earlier_one_of_the_router_beneath(open_store):
    """Seen live: 42 ms lay between a frontend's word for it and the client's, on the way between both."""
    out = Emitter()
    sent = [("first_token", 79, {}), ("last_token", 90, {})]
    told = {"pd.request.id": "mine", "pd.outcome": "ok", "gen_ai.usage.output_tokens": 3}
    told |= {"pd.stream.stalled_ms": 0.0}
    tap = out.span("tap", "pd.request", 0, 91, told, events=sent)
    beneath = {
        "request_id": "u-1", "uri": "/v1/chat/completions", "x_request_id": "mine", "ttft_ms": "36",
        "request.outcome": "success", "output_tokens": "3",
    }  # fmt: skip
    out.span("dynamo-frontend", "http-request", 1, 38, beneath, parent=tap)

    (row,) = assemble(open_store, [out.body()])

    assert (row["ttft_ns"], row["ttft_source"]) == (79 * MS, "router_first_token")
    assert row["tpot_ns"] == pytest.approx(5.5 * MS)


def tapped(out: Emitter, number: int, answer: str) -> None:
    """What a tap tells of one request."""
    sent = [("first_token", number + 20, {}), ("last_token", number + 40, {})]
    told = {"pd.request.id": f"mine-{number}", "pd.answer.id": answer, "pd.outcome": "ok"}
    out.span("tap", "pd.request", number, number + 41, told, events=sent)


def test_a_record_that_names_the_answer_alone_belongs_to_the_request_that_the_tap_saw(open_store):
    """Dynamo's request trace has no trace id and not the client's own id: seen live without its spans."""
    out = Emitter()
    tapped(out, 0, "u-1")
    record = {"dynamo.trace.request_id": "u-1", "dynamo.trace.input_tokens": "5"}
    out.span("dynamo-request-trace", "dynamo.request.trace", 1, 40, record)

    (row,) = assemble(open_store, [out.body()])

    assert (row["outcome"], row["complete"], row["input_tokens"]) == ("ok", 1, 5)
    assert row["ttft_ns"] == 20 * MS


def test_a_server_that_calls_all_its_answers_alike_joins_no_requests(open_store):
    out = Emitter()
    for number in (0, 100, 200):
        tapped(out, number, "cmpl")

    rows = assemble(open_store, [out.body()])

    assert [row["request_id"] for row in rows] == ["mine-0", "mine-100", "mine-200"]


@pytest.mark.parametrize(
    ("by", "counted"),
    [("chunks", (8, "engine")), ("words", (8, "engine")), ("usage", (5, "usage")), (None, (5, "router"))],
)
def test_chunks_that_a_tap_counted_do_not_outrank_the_tokens_that_the_engine_tells(open_store, by, counted):
    """Seen live: a client that asked for no usage was sent 8 tokens in 5 chunks."""
    out = Emitter()
    told = {"pd.request.id": "a", "pd.outcome": "ok", "gen_ai.usage.output_tokens": 5}
    told |= {} if by is None else {"pd.output_tokens_by": by}
    sent = [("first_token", 20, {}), ("last_token", 90, {})]
    tap = out.span("tap", "pd.request", 0, 91, told, events=sent)
    beneath = {"request_id": "u-1", "uri": "/v1/completions", "x_request_id": "a", "output_tokens": "8"}
    out.span("dynamo-frontend", "http-request", 1, 90, beneath, parent=tap)

    (row,) = assemble(open_store, [out.body()])

    assert (row["output_tokens"], *row["receipt"]) == counted


@pytest.mark.parametrize(
    ("told", "label"), [("chunks", "chunks"), ("words", "words"), ("usage", "usage"), (None, "router")]
)
def test_tokens_counted_in_any_way_count_where_nobody_tells_better_and_say_how(open_store, told, label):
    out = Emitter()
    said = {"gen_ai.usage.output_tokens": 5, "pd.outcome": "ok"} | (
        {"pd.output_tokens_by": told} if told else {}
    )
    out.span("tap", "pd.request", 0, 91, said)

    (row,) = assemble(open_store, [out.body()])

    assert (row["output_tokens"], *row["receipt"]) == (5, label)
