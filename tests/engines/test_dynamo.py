"""Dynamo's traps: migration, refusals, outcomes it does not say, worker ids, spans in error that are none."""

import pytest
from opentelemetry.trace import SpanContext, SpanKind

from analyzer.assemble.oracle_spans import read_spans
from collector.phases import DECODE_PARTS
from collector.store import Store
from tests.engines.assembled import assemble, bodies, plausible, unexplained
from tests.engines.emitter import MS, Emitter, caller, exposed
from tests.paths import CAPTURES

RUNS = CAPTURES / "dynamo-1.6.1"
LIVE, DEAD = str(2**63 + 11), str(2**63 + 99)


@pytest.fixture
def store(open_store: Store) -> Store:
    return open_store


def captured(store: Store, run: str) -> list[dict[str, object]]:
    return assemble(store, bodies(RUNS / run / "otlp_traces.bin.gz"))


def test_without_prefill_workers_every_request_is_a_rejection(store):
    rows = captured(store, "fault-no-prefill-workers")

    assert [row["outcome"] for row in rows] == ["rejected"] * 12
    assert {row["complete"] for row in rows} == {1}


def test_debug_logging_ends_good_requests_in_error_and_they_stay_good(store):
    rows = captured(store, "debug-everything")

    assert {(row["outcome"], row["ttft_ns"] is not None) for row in rows} == {("ok", True)}


def test_an_engine_that_fails_every_request_gives_errors_with_their_age(store):
    rows = captured(store, "engine-trtllm")

    assert [(row["outcome"], row["censored"]) for row in rows].count(("error", 1)) == 11
    assert [row["outcome"] for row in rows].count("rejected") == 1


def test_a_killed_prefill_worker_fails_its_requests_although_decode_looks_well(store):
    rows = captured(store, "fault-prefill-kill")

    outcomes = [str(row["outcome"]) for row in rows]
    assert {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))} == {
        "error": 16, "interrupted": 1, "ok": 6, "rejected": 7,
    }  # fmt: skip


def test_round_robin_routes_tell_no_phase_and_the_workers_are_known_all_the_same(store):
    rows = captured(store, "router-default-roundrobin")

    assert {(row["prefill_worker"], row["decode_worker"]) for row in rows} == {
        ("1325672187745183951", "16538552255973721739")
    }


@pytest.mark.parametrize(("name", "outcome"), [("client-req-193", "cancelled"), ("client-req-161", "ok")])
def test_dynamo_1_4_says_no_outcome_and_it_is_read_off_its_events(store, name, outcome):
    rows = assemble(store, bodies(CAPTURES / "dynamo-1.4.2-mocker_pd-sequential" / "traces.otlp.pb.gz"))

    assert {row["client_request_id"]: row["outcome"] for row in rows}[name] == outcome


def test_a_request_trace_alone_is_a_request_whose_outcome_is_not_known(store):
    rows = assemble(store, bodies(RUNS / "otel-disabled-jsonl-only" / "reqtrace.jsonl.gz"))

    assert len(rows) == 10
    assert {(row["outcome"], row["notes"]) for row in rows} == {("", ("no_request_span",))}


def attempt(out: Emitter, number: int, at: float, root: SpanContext, dies: bool) -> None:
    """One pass: select and route to prefill, select and route to decode; a killed worker leaves no span."""
    for phase, component, start, end in (("Prefill", "prefill", 2, 20), ("Decode", "backend", 22, 60)):
        select = out.span(
            "dynamo-frontend", "kv_router.select_worker", at + start - 2, at + start - 1, parent=root
        )
        out.span("dynamo-frontend", "kv_router.schedule", at + start - 2, at + start - 1, parent=select)
        dead = dies and phase == "Decode"
        worker = ("7", "8")[number] if phase == "Prefill" else (DEAD if dies else LIVE)
        said = {
            "phase": phase, "worker_id": worker, "request.attempt": str(number), "request_id": "u-1",
            "migration.is_retry": str(bool(number)).lower(),
            "request.outcome": "worker_disconnected" if dead else "success",
        }  # fmt: skip
        route = out.span(
            "dynamo-frontend", "kv_router.route_request", at + start, at + end, said,
            parent=root, kind=SpanKind.CLIENT, error=dead,
        )  # fmt: skip
        if not dead:
            told = {
                "component": component,
                "endpoint": "generate",
                "instance_id": worker,
                "request_id": "u-1",
            }
            out.span(
                f"dynamo-{component}", "handle_payload", at + start + 1, at + end - 1, told,
                parent=route, kind=SpanKind.SERVER,
            )  # fmt: skip


@pytest.mark.parametrize(("ttft_ms", "retry"), [(30.0, 0), (105.0, 72)])
def test_a_migration_is_a_second_attempt_of_one_request_and_costs_ttft_only_before_the_first_token(
    store, ttft_ms, retry
):
    out = Emitter()
    about = {
        "request_id": "u-1",
        "uri": "/v1/chat/completions",
        "model": "tiny",
        "ttft_ms": str(ttft_ms),
        "output_tokens": "20",
        "prefill_worker_id": "7",
        "decode_worker_id": DEAD,
        "request.outcome": "success",
    }
    events = [("request received", 0, {}), ("Stream disconnected, recreating stream", 60, {})]
    root = out.span(
        "dynamo-frontend", "http-request", 0, 140, about, parent=caller(5), events=events, error=True
    )
    attempt(out, 0, 1, root, dies=True)
    attempt(out, 1, 73, root, dies=False)

    (row,) = assemble(store, [out.body()])

    assert unexplained([out.body()]) == {}
    assert plausible(row)
    assert (row["outcome"], row["attempts"]) == ("ok", 2)
    assert exposed(row).get("retry", 0) == retry
    assert (row["prefill_worker"], row["decode_worker"]) == ("8", LIVE)
    attempts = {interval[5] for interval in row["intervals"] if interval[4] == "dynamo-frontend"}
    assert attempts == {1, 2}


def test_a_workers_question_at_its_start_is_no_request(store):
    out = Emitter()
    out.span("dynamo-prefill", "worker_kv_query_source_42", 0, 3)

    assert assemble(store, [out.body()]) == []
    assert unexplained([out.body()]) == {}


def test_health_and_model_calls_are_no_requests(store):
    out = Emitter()
    out.span("dynamo-frontend", "http-request", 0, 1, {"uri": "/v1/models", "request_id": "u-9"})

    assert assemble(store, [out.body()]) == []
    assert unexplained([out.body()]) == {}


def test_several_requests_in_one_trace_stay_apart(store):
    out = Emitter()
    for number in range(3):
        about = {
            "request_id": f"u-{number}",
            "uri": "/v1/completions",
            "ttft_ms": "5",
            "request.outcome": "success",
        }
        root = out.span("dynamo-frontend", "http-request", number, number + 40, about, parent=caller(8))
        told = {"component": "backend", "endpoint": "generate", "request_id": f"u-{number}"}
        out.span("dynamo-decode", "handle_payload", number + 1, number + 39, told, parent=root)

    rows = assemble(store, [out.body()])

    assert [(row["request_id"], row["spans"]) for row in rows] == [("u-0", 2), ("u-1", 2), ("u-2", 2)]
    assert {row["joined_by"] for row in rows} == {("shared_trace",)}


def test_a_clients_own_id_may_repeat_without_joining_requests(store):
    out = Emitter()
    for number in range(2):
        about = {
            "request_id": f"u-{number}", "x_request_id": "mine", "uri": "/v1/completions", "ttft_ms": "5",
            "request.outcome": "success",
        }  # fmt: skip
        out.span("dynamo-frontend", "http-request", number, 40, about, parent=caller(20 + number))

    rows = assemble(store, [out.body()])

    assert [row["client_request_id"] for row in rows] == ["mine", "mine"]
    assert {row["ttft_ns"] for row in rows} == {5 * MS}


@pytest.mark.parametrize(
    ("ended", "outcome"),
    [
        ({"status": "cancelled", "error_type": "cancelled"}, "cancelled"),
        ({"status": "error", "error_type": "unavailable"}, "rejected"),
        ({"status": "error", "error_type": "internal"}, "error"),
    ],
)
def test_on_completions_the_frontend_tells_the_outcome_on_a_span_within(store, ended, outcome):
    """Seen live with 1.6.1: http-request itself says no outcome and has no `request received` there."""
    out = Emitter()
    failed = ended["status"] == "error"
    about = {"request_id": "u-1", "uri": "/v1/completions", "x_request_id": "mine"}
    statuses = {"unavailable": "503", "internal": "500"}
    sent = [("http response sent", 20, {"status": statuses.get(ended["error_type"], "200")})]
    sent += [("response failed", 20, {})] if failed else []
    root = out.span(
        "dynamo-frontend", "http-request", 0, 30, about, parent=caller(6), events=sent, error=failed
    )
    around = out.span("dynamo-frontend", "completions", 1, 25, parent=root)
    asked = {"request_id": "u-1", "model": "tiny", "endpoint": "completions"}
    told = [("request received", 2, asked), ("request completed", 28, {**asked, **ended})]
    out.span("dynamo-frontend", "completions_single", 1, 29, parent=around, events=told, error=failed)

    (row,) = assemble(store, [out.body()])

    assert unexplained([out.body()]) == {}
    assert (row["outcome"], row["model"]) == (outcome, "tiny")


def test_a_stream_that_broke_on_completions_is_interrupted_not_refused(store):
    out = Emitter()
    about = {"request_id": "u-2", "uri": "/v1/completions", "ttft_ms": "12.5", "output_tokens": "17"}
    broke = [("http response sent", 9, {"status": "200"}), ("Cannot recreate stream", 90, {})]
    root = out.span("dynamo-frontend", "http-request", 0, 99, about, parent=caller(7), events=broke)
    ended = {"status": "error", "error_type": "unavailable"}
    told = [("request received", 2, {"model": "tiny"}), ("request completed", 95, ended)]
    out.span("dynamo-frontend", "completions_single", 1, 96, parent=root, events=told, error=True)

    (row,) = assemble(store, [out.body()])

    assert (row["outcome"], row["model"]) == ("interrupted", "tiny")


def test_a_prefill_worker_over_its_session_limit_refuses_and_no_connection_failed(store):
    """Its route ends as connection_failed, although the worker took the request and said why it would not."""
    exports = bodies(RUNS / "fault-prefill-saturated" / "otlp_traces.bin.gz")
    (labelled,) = [
        span for span in read_spans(exports) if span.attributes.get("request.outcome") == "connection_failed"
    ]

    rows = {row["trace_id"]: row for row in assemble(store, exports)}

    row = rows[labelled.trace_id]
    assert (row["outcome"], row["attempts"], row["ttft_ns"]) == ("rejected", 1, None)
    told = store.query(
        "SELECT trace_id, outcome, receipt['error_type'] FROM requests FINAL WHERE tombstone = 0"
    )
    why = {bytes(trace): said for trace, _, said in told}
    assert "session limit reached" in why[labelled.trace_id]
    others = [said for _, outcome, said in told if outcome == "error"]
    assert (len(others), set(others)) == (71, {"no endpoints available to route work"})


STACK = "panicked at 'poll': 0: std::panicking\n  1: tokio::runtime '{x:String}' %s \\ \0 \u2620 " * 900


@pytest.mark.parametrize(
    "event", [STACK, "", " ", "first_token'); DROP TABLE spans; --", "request received "]
)
def test_events_named_by_a_stack_trace_change_nothing_and_refuse_nothing(store, event):
    out = Emitter()
    for number, events in enumerate(([], [(event, 10, {"exception.stacktrace": STACK})])):
        about = {
            "request_id": f"u-{number}", "uri": "/v1/chat/completions", "ttft_ms": "30", "model": "tiny",
            "request.outcome": "success", "output_tokens": "20",
        }  # fmt: skip
        root = out.span(
            "dynamo-frontend", "http-request", 0, 140, about, parent=caller(30 + number),
            events=[("request received", 0, {}), *events],
        )  # fmt: skip
        told = {
            "component": "backend",
            "endpoint": "generate",
            "instance_id": LIVE,
            "request_id": f"u-{number}",
        }
        out.span("dynamo-backend", "handle_payload", 2, 138, told, parent=root, events=events)

    plain, named = assemble(store, [out.body()])

    assert unexplained([out.body()]) == {}
    same = ("outcome", "ttft_ns", "e2e_ns", "exposed_ns", "intervals", "decode_worker", "spans", "notes")
    assert {name: named[name] for name in same} == {name: plain[name] for name in same}
    ((longest,),) = store.query("SELECT max(arrayMax(e -> length(e), events.name)) FROM spans")
    assert longest <= 4096


def test_a_queue_inside_prefill_is_called_neither_computing_nor_a_transfer(store):
    """Seen as prefill's own time: pdscope says what lies within, and gives it to nobody."""
    rows = captured(store, "fault-prefill-saturated-workerqueue")
    slow = sorted(rows, key=lambda row: -(row["ttft_ns"] or 0))[: len(rows) // 2]

    for row in slow:
        told = exposed(row)
        assert not {"prefill_queue", "prefill_compute", "kv_transfer", "kv_publish"} & set(told)
        within = [
            ns for covers, ns, _ in row["composites"] if {"prefill_queue", "prefill_compute"} <= set(covers)
        ]
        assert sum(within) > 0.5 * row["ttft_ns"]
        assert told["unattributed"] >= sum(within) / MS - 0.001


def test_the_request_trace_keeps_what_spans_of_cancelled_requests_leave_out(store):
    run = RUNS / "fault-client-cancel"
    exports = [*bodies(run / "otlp_traces.bin.gz"), *bodies(run / "reqtrace.jsonl.gz")]

    rows = [row for row in assemble(store, exports) if row["outcome"] == "cancelled"]

    assert len(rows) == 33
    assert all(row["input_tokens"] and row["prefill_worker"] and row["decode_worker"] for row in rows)


def test_legs_whose_root_span_was_never_sent_are_no_request_until_it_comes(store):
    """A frontend that still sends to a dead worker loses its root spans."""
    out, lost = Emitter(), Emitter()
    about = {"request_id": "u-1", "uri": "/v1/completions"}
    root = lost.span("dynamo-frontend", "http-request", 0, 140, about, parent=caller(40))
    attempt(out, 0, 1, root, dies=True)

    assert assemble(store, [out.body()]) == []
    assert unexplained([out.body()]) == {}
    (row,) = assemble(store, [out.body(), lost.body()])
    assert row["spans"] == 8


def answered(out: Emitter, number: int, uri: str, status: int, **said: str) -> SpanContext:
    """The frontend's span of a request that got this HTTP status."""
    events = [("http response sent", 1, {"status": str(status), "latency_ms": "1"})]
    about = {"request_id": f"u-{number}", "uri": uri, "x_request_id": f"mine-{number}", **said}
    return out.span(
        "dynamo-frontend", "http-request", 0, 80 if status == 200 else 2, about,
        parent=caller(60 + number), events=events, error=status != 200,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (400, "invalid"),
        (404, "invalid"),
        (422, "invalid"),
        (429, "rejected"),
        (503, "rejected"),
        (500, "error"),
        (501, "error"),
        (504, "timeout"),
        (499, "cancelled"),
    ],
)
@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("/v1/completions", {}),  # a body that is no JSON: one bare span
        ("/v1/chat/completions", {"model": "tiny", "request.outcome": "error"}),
    ],
)
def test_a_request_without_an_answer_ended_as_its_client_was_told(store, uri, said, status, outcome):
    out = Emitter()
    answered(out, 1, uri, status, **said)

    (row,) = assemble(store, [out.body()])

    assert (row["outcome"], row["http_status"], row["complete"]) == (outcome, status, 1)


@pytest.mark.parametrize("on", ["http-request", "completions_single"])
def test_a_wrong_request_of_which_a_stream_says_so_after_its_200_is_no_failure_of_the_service(store, on):
    out = Emitter()
    events = [("request completed", 5, {"status": "error", "error_type": "validation"})]
    sent = ("http response sent", 3, {"status": "200"})
    about = {"request_id": "u-4", "uri": "/v1/completions"}
    if on == "http-request":
        about |= {"uri": "/v1/chat/completions", "request.outcome": "error"}
    root = out.span(
        "dynamo-frontend", "http-request", 0, 9, about, parent=caller(64),
        events=[sent, *(events if on == "http-request" else [])],
    )  # fmt: skip
    if on != "http-request":
        out.span("dynamo-frontend", on, 1, 8, parent=root, events=events, error=True)

    (row,) = assemble(store, [out.body()])

    assert (row["outcome"], row["complete"]) == ("invalid", 1)


@pytest.mark.parametrize("span", ["completions_single", "completions_batch"])
def test_an_answer_in_one_piece_on_completions_is_whole_and_its_first_token_came_with_the_rest(store, span):
    """Seen live with 1.6.1: its http-request tells no outcome, no tokens and no ttft_ms."""
    out = Emitter()
    root = answered(out, 2, "/v1/completions", 200)
    around = out.span("dynamo-frontend", "completions", 1, 79, parent=root)
    asked = {"request_id": "u-2", "model": "tiny", "endpoint": "completions", "request_type": "unary"}
    told = [("request received", 2, asked), ("request completed", 78, {**asked, "status": "success"})]
    out.span("dynamo-frontend", span, 1, 78.5, parent=around, events=told)
    leg = {"component": "backend", "endpoint": "generate", "request_id": "u-2", "instance_id": LIVE}
    out.span("dynamo-decode", "handle_payload", 40, 95, leg, parent=around, kind=SpanKind.SERVER)

    (row,) = assemble(store, [out.body()])

    assert unexplained([out.body()]) == {}
    assert (row["outcome"], row["complete"], row["model"]) == ("ok", 1, "tiny")
    assert (row["ttft_ns"], row["ttft_source"], row["tpot_ns"]) == (78.5 * MS, "router_first_token", None)


def test_embeddings_are_no_generation(store):
    out = Emitter()
    root = answered(out, 3, "/v1/embeddings", 404)
    out.span("dynamo-frontend", "embeddings", 1, 2, parent=root, error=True)

    assert assemble(store, [out.body()]) == []
    assert unexplained([out.body()]) == {}


def test_decode_lasts_from_the_first_token_sent_to_the_end_of_its_workers_span(store):
    """Seen live behind a reader that took a minute for what decode had sampled in two seconds."""
    out = Emitter()
    about = {
        "request_id": "u-1", "uri": "/v1/chat/completions", "ttft_ms": "30", "request.outcome": "success",
        "output_tokens": "11",
    }  # fmt: skip
    root = out.span("dynamo-frontend", "http-request", 0, 300, about, parent=caller(70))
    leg = {"component": "backend", "endpoint": "generate", "request_id": "u-1", "instance_id": LIVE}
    out.span("dynamo-decode", "handle_payload", 10, 130, leg, parent=root, kind=SpanKind.SERVER)

    (row,) = assemble(store, [out.body()])

    told = dict(zip(DECODE_PARTS, row["exposed_decode_ns"], strict=True))
    assert (told["running"], told["unattributed"]) == (100 * MS, 170 * MS)


def test_lifecycle_mode_tells_the_model_on_an_event_and_no_first_token_of_an_answer_in_one_piece(store):
    out = Emitter()
    root = answered(out, 5, "/v1/chat/completions", 200)
    asked = {"request_id": "u-5", "model": "tiny", "request_type": "unary"}
    told = [("request received", 1, asked), ("request completed", 70, {**asked, "status": "success"})]
    about = {"dynamo.request.id": "u-5", "dynamo.request.terminal.outcome": "success"}
    out.span("dynamo-frontend", "request.lifecycle", 1, 79, about, parent=root, events=told)

    (row,) = assemble(store, [out.body()])

    assert (row["outcome"], row["complete"], row["model"], row["ttft_ns"]) == ("ok", 1, "tiny", 79 * MS)


def test_a_client_that_left_before_an_answer_in_one_piece_is_no_success(store):
    """Seen live: the frontend says success within, and no response was ever sent."""
    out = Emitter()
    about = {"request_id": "u-6", "uri": "/v1/completions"}
    root = out.span("dynamo-frontend", "http-request", 0, 400, about, parent=caller(71))
    ended = {"request_type": "unary", "status": "success"}
    told = [("request received", 2, {"request_type": "unary"}), ("request completed", 399, ended)]
    out.span("dynamo-frontend", "completions_single", 1, 399, parent=root, events=told)

    (row,) = assemble(store, [out.body()])

    assert (row["outcome"], row["complete"]) == ("cancelled", 1)


@pytest.mark.parametrize(
    ("router", "told"),
    [
        ("kv_router", {"phase": "Decode"}),
        ("router", {"router_mode": "RoundRobin", "migration.tokens_completed": "0"}),
    ],
)
def test_a_decode_worker_that_stands_still_holds_what_was_sent_to_it(store, router, told):
    """Seen live: a stopped worker's span begins once it goes on; the frontend had sent it long before."""
    out = Emitter()
    about = {
        "request_id": "u-1",
        "uri": "/v1/chat/completions",
        "ttft_ms": "5000",
        "request.outcome": "success",
    }
    root = out.span("dynamo-frontend", "http-request", 0, 5100, about, parent=caller(72))
    sent = told | {"worker_id": LIVE, "request.attempt": "0", "request_id": "u-1"}
    route = out.span("dynamo-frontend", f"{router}.route_request", 100, 5090, sent, parent=root)
    leg = {"component": "backend", "endpoint": "generate", "request_id": "u-1", "instance_id": LIVE}
    out.span("dynamo-decode", "handle_payload", 4900, 5080, leg, parent=route, kind=SpanKind.SERVER)

    (row,) = assemble(store, [out.body()])

    within = [ns for covers, ns, _ in row["composites"] if "decode_queue" in covers]
    assert sum(within) == 4900 * MS
