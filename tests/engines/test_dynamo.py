"""Dynamo's traps: migration, refusals, outcomes it does not say, worker ids, spans in error that are none."""

import pytest
from opentelemetry.trace import SpanContext, SpanKind

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

    assert {(row["outcome"], row["censored"]) for row in rows} == {("error", 1)}


def test_a_killed_prefill_worker_fails_its_requests_although_decode_looks_well(store):
    rows = captured(store, "fault-prefill-kill")

    outcomes = [str(row["outcome"]) for row in rows]
    assert {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))} == {
        "error": 17, "interrupted": 1, "ok": 6, "rejected": 6,
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
    sent = [("http response sent", 20, {"status": "503" if failed else "200"})]
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
