"""SGLang legs in the shape of its source: behind a gateway, apart, retried, aborted."""

from collections.abc import Mapping

import pytest
from opentelemetry.trace import SpanContext, TraceFlags

from collector.store import Store
from tests.engines.assembled import assemble, plausible, unexplained
from tests.engines.emitter import MS, Emitter, at_ms, caller, exposed

SENT = "Sending concurrent requests"

PREFILL = (
    ("tokenize", 1, 3), ("api_server_dispatch", 3, 4), ("prefill_prepare", 4, 5), ("prefill_bootstrap", 5,
    10), ("prefill_waiting", 10, 20), ("prefill_forward", 20, 50), ("prefill_transfer_kv_cache", 50, 62),
)  # fmt: skip
DECODE = (
    ("tokenize", 1, 4), ("api_server_dispatch", 4, 5), ("decode_prepare", 5, 6), ("decode_bootstrap", 6, 12),
    ("decode_transferred", 12, 65), ("decode_waiting", 65, 70), ("decode_forward", 70, 110),
)  # fmt: skip


def leg(
    out: Emitter,
    role: str,
    room: int,
    parent: SpanContext | None = None,
    at: float = 0,
    ranks: int = 1,
    abort: Mapping[str, object] | None = None,
    level: int = 3,
    retracted: tuple[float, ...] = (),
    resumed: tuple[float, ...] = (),
) -> None:
    """One leg, its stages on every rank; every process exports under SGLang's one default service name."""
    stages, end = (PREFILL, 62) if role == "prefill" else (DECODE, 110)
    label = role.title()
    attributes = {"rid": f"{room:032x}", "module": "sglang::request", "bootstrap_room": hex(room)}
    if role == "decode" and not abort:
        attributes |= {
            "gen_ai.latency.time_to_first_token": 0.073,
            "gen_ai.latency.e2e": 0.110,
            "gen_ai.usage.completion_tokens": 8,
            "gen_ai.usage.prompt_tokens": 900,
            "gen_ai.response.model": "llama",
        }
    name = f"{role} Req {attributes['rid'][:8]}"
    root = out.span("sglang", name, at, at + end, attributes, parent=parent)
    front = {"host_id": "9f3c", "pid": 7, "thread_label": f"{label} Tokenizer"}
    thread = out.span("sglang", f"{label} Tokenizer (host:9f3c | pid:7)", at, at + end, front, parent=root)
    for stage, start, stop in stages[:2]:
        out.span("sglang", stage, at + start, at + stop, parent=thread)
    for rank in range(ranks):
        about = {"tp_rank": rank, "pp_rank": 0, "dp_rank": 0, "thread_label": f"{label} Scheduler"}
        scheduler = out.span(
            "sglang",
            f"{label} Scheduler [TP {rank}] [PP 0] [DP 0] (host:9f3c | pid:{rank})",
            at + 4,
            at + end,
            {**about, **(abort or {})},
            parent=root,
            error=bool(abort),
            events=[("retract", at + when, {}) for when in retracted],
        )
        for stage, start, stop in stages[2 : 4 if abort else None]:
            stage_span = out.span("sglang", stage, at + start, at + stop, parent=scheduler)
            if stage == "prefill_forward":
                out.span("sglang", "chunked_prefill", at + 20, at + 35, parent=stage_span)
            if stage == "decode_forward" and level == 3:
                for begins, ends in [(70, 73), *((when, when + 1) for when in resumed)]:
                    out.span("sglang", "fake_output", at + begins, at + ends, parent=stage_span)
                for step in range(3):
                    out.span(
                        "sglang",
                        "decode_loop",
                        at + 73 + step,
                        at + 74 + step,
                        {"decode_ct": step},
                        parent=stage_span,
                    )


def gateway(out: Emitter, sends: tuple[float, ...], end: float, status: str = "200") -> SpanContext:
    events = [(SENT, at, {"prefill_url": "http://p:1", "decode_url": f"http://d:{at:.0f}"}) for at in sends]
    attributes = {"method": "POST", "path": "/v1/chat/completions", "request_id": "client-1"}
    if status:
        attributes["status_code"] = status
    return out.span("smg", "http_request", -1, end, attributes, scope="smg", events=events, parent=caller(1))


def assembled(store: Store, out: Emitter) -> list[dict[str, object]]:
    assert unexplained([out.body()]) == {}
    found = assemble(store, [out.body()])
    assert all(plausible(row) for row in found)
    return found


@pytest.fixture
def store(open_store: Store) -> Store:
    return open_store


@pytest.mark.parametrize("level", [3, 1])
def test_both_legs_under_one_gateway_span_are_one_request_with_every_stage(store, level):
    out = Emitter()
    root = gateway(out, (0,), 112)
    leg(out, "prefill", 0xABC, root)
    leg(out, "decode", 0xABC, root, level=level)

    (row,) = assembled(store, out)

    assert (row["outcome"], row["attempts"], row["complete"]) == ("ok", 1, 1)
    assert (row["ttft_ns"], row["ttft_source"]) == (74 * MS, "engine_first_token")
    assert exposed(row) == {
        "router_queue": 1, "tokenize": 2, "prefill_queue": 17, "prefill_compute": 30, "kv_transfer": 12,
        "unattributed": 4, "decode_queue": 5, "first_decode_step": 3,
    }  # fmt: skip
    assert (row["prefill_worker"], row["decode_worker"]) == ("p:1", "d:0")
    assert (row["output_tokens"], row["input_tokens"], row["client_request_id"]) == (8, 900, "client-1")


@pytest.mark.parametrize(
    ("level", "retracted", "resumed", "put_off"),
    [
        (3, (80,), (95,), 15),
        (3, (80, 99), (95, 104), 20),
        (3, (80, 82, 99), (95,), 15),
        (1, (80,), (), 0),
        (3, (80,), (), 0),
    ],
    ids=[
        "until a batch took it again",
        "twice",
        "told twice, and then never taken again",
        "no step is traced",
        "never taken again",
    ],
)
def test_a_retracted_request_is_put_off_until_a_batch_takes_it_again(
    store, level, retracted, resumed, put_off
):
    out = Emitter()
    root = gateway(out, (0,), 112)
    leg(out, "prefill", 0xABC, root)
    leg(out, "decode", 0xABC, root, ranks=2, level=level, retracted=retracted, resumed=resumed)

    (row,) = assembled(store, out)

    assert row["exposed_decode_ns"][1] == put_off * MS
    assert row["ttft_ns"] == 74 * MS


def test_decode_transferred_holds_the_remote_prefill_so_it_only_bounds(store):
    out = Emitter()
    leg(out, "decode", 0xABC)

    (row,) = assembled(store, out)

    ((covers, ns, reason),) = row["composites"]
    assert covers == ("prefill_queue", "prefill_compute", "kv_publish", "kv_transfer", "kv_import")
    assert ns == 53 * MS
    assert "remote prefill" in reason
    assert "kv_import" not in exposed(row)


def test_legs_in_traces_of_their_own_and_the_mooncake_sender_are_joined_by_the_bootstrap_room(store):
    out = Emitter()
    leg(out, "prefill", 0x5EED)
    leg(out, "decode", 0x5EED)
    sender = out.span("sglang", "Sender Req 0x5eed", 49, 61, {"rid": "0x5eed", "module": "sglang::mooncake"})
    thread = {"thread_label": "Prefill Scheduler", "pid": 9}
    worker = out.span("sglang", "Prefill Scheduler [TP 0] (host:9f3c | pid:9)", 49, 61, thread, parent=sender)
    out.span("sglang", "mooncake_send", 49, 60, parent=worker)
    out.span("sglang", "mooncake_worker_send", 50, 60, parent=worker)

    (row,) = assembled(store, out)

    assert row["joined_by"] == ("request_id", "trace_id")
    assert row["notes"] == ("no_request_span",)
    ((asked, moved, imported, connectors),) = store.query(
        "SELECT asked_ns, moved_ns, imported_ns, connector FROM transfers FINAL"
    )
    assert (at_ms(asked), at_ms(moved), at_ms(imported)) == (49, 62, 65)
    assert connectors in ("sglang", "mooncake")


def test_ranks_repeat_their_stages_and_count_once(store):
    rows = []
    for ranks in (1, 4):
        out = Emitter()
        root = gateway(out, (0,), 112)
        leg(out, "prefill", 0xABC, root, ranks=ranks)
        leg(out, "decode", 0xABC, root, ranks=ranks)
        rows += assembled(store, out)

    assert exposed(rows[0]) == exposed(rows[1])
    assert rows[0]["phase_ns"] == rows[1]["phase_ns"]
    assert rows[1]["spans"] > rows[0]["spans"]


def test_a_retry_keeps_its_traceparent_and_is_told_by_its_new_room(store):
    out = Emitter()
    root = gateway(out, (0, 80), 200)
    leg(out, "prefill", 0xFFF, root)
    leg(out, "decode", 0xFFF, root, abort={"type": "abort", "message": "KVTransferError", "status_code": 500})
    leg(out, "prefill", 0x111, root, at=80)
    leg(out, "decode", 0x111, root, at=80)

    (row,) = assembled(store, out)

    assert (row["attempts"], row["outcome"]) == (2, "ok")
    assert exposed(row)["retry"] == 80
    assert row["decode_worker"] == "d:80"
    assert {(phase, attempt) for phase, _, _, _, _, attempt, _, _ in row["intervals"]} >= {
        ("prefill_compute", 1),
        ("prefill_compute", 2),
        ("decode", 2),
    }
    assert ("decode", 1) not in {(i[0], i[5]) for i in row["intervals"]}


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"type": "abort", "message": "Aborted"}, "cancelled"),
        ({"type": "abort", "message": "The request queue is full", "status_code": 503}, "rejected"),
        ({"type": "abort", "message": "too long", "status_code": 400}, "invalid"),
        ({"type": "abort", "message": "Decode transfer failed", "status_code": 500}, "error"),
    ],
)
def test_an_abort_on_decode_tells_the_outcome_behind_a_status_of_200(store, said, outcome):
    out = Emitter()
    root = gateway(out, (0,), 112)
    leg(out, "prefill", 0xABC, root)
    leg(out, "decode", 0xABC, root, abort=said)

    (row,) = assembled(store, out)

    assert (row["outcome"], dict(store_receipt(store))["error_type"]) == (outcome, said["message"])


def store_receipt(store: Store) -> dict[str, str]:
    return store.query("SELECT receipt FROM requests FINAL WHERE tombstone = 0")[0][0]


def test_a_failed_transfer_leaves_no_transfer_span_and_none_is_made_up(store):
    out = Emitter()
    leg(
        out,
        "prefill",
        0xABC,
        abort={"type": "abort", "message": "Prefill transfer failed", "status_code": 500},
    )

    assert len(assembled(store, out)) == 1
    assert store.query("SELECT count() FROM transfers FINAL") == [(0,)]


def test_a_unified_engine_is_one_process_that_does_both(store):
    out = Emitter()
    attributes = {
        "rid": "ab" * 16, "gen_ai.latency.time_to_first_token": 0.050, "gen_ai.latency.e2e": 0.09,
        "gen_ai.usage.completion_tokens": 4,
    }  # fmt: skip
    root = out.span("sglang", " Req abababab", 0, 90, attributes)
    about = {"thread_label": "Scheduler", "tp_rank": 0}
    thread = out.span("sglang", "Scheduler [TP 0] (host:9f3c | pid:1)", 0, 90, about, parent=root)
    for stage, start, end in (
        ("request_process", 0, 2),
        ("prefill_waiting", 2, 10),
        ("prefill_forward", 10, 50),
        ("decode_forward", 50, 90),
    ):
        out.span("sglang", stage, start, end, parent=thread)

    (row,) = assembled(store, out)

    assert exposed(row) == {"prefill_queue": 8, "prefill_compute": 40, "unattributed": 2}
    assert row["decode_process"] == "sglang"


def test_spans_of_the_same_beginning_that_are_not_sglangs_stay_unexplained():
    out = Emitter()
    out.span("app", "Prefill the form", 0, 1)
    out.span("app", "decode Req ", 0, 1)

    assert set(unexplained([out.body()])) == {("app", "Prefill the form"), ("app", "decode Req ")}


def test_trace_ids_whose_upper_half_is_zero_are_ids_like_others(store):
    out = Emitter()
    for number, room in ((0x1234567890ABCDEF, 0xA11), (0x1234567890ABCDEE, 0xA12)):
        own = SpanContext(number, 0xF00D, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        leg(out, "prefill", room, own)
        leg(out, "decode", room, own)

    rows = assembled(store, out)

    assert [(row["input_tokens"], row["output_tokens"]) for row in rows] == [(900, 8)] * 2


def test_legs_right_below_the_client_without_a_traced_router_are_one_request(store):
    """With its tracing off sglang-router hands the client's traceparent to both legs."""
    out = Emitter()
    leg(out, "prefill", 0xABC, caller(60))
    leg(out, "decode", 0xABC, caller(60))

    (row,) = assembled(store, out)

    assert (row["notes"], row["joined_by"], row["attempts"]) == (("no_request_span",), ("trace_id",), 1)
    # nothing but a router's span tells processes of one default name apart
    assert (row["prefill_worker"], row["decode_worker"]) == ("sglang", "sglang")
    assert exposed(row)["prefill_compute"] == 30
