"""sglang-router 0.3.2 and smg 1.13.0 as run: what their one span a request tells, and what it cannot."""

import pytest

from collector.store import Store
from tests.engines.assembled import assemble, bodies
from tests.engines.emitter import MS, Emitter, caller, exposed
from tests.paths import CAPTURES

OLD = CAPTURES / "sglang-router-0.3.2_cb-default" / "traces.otlp.pb.gz"
NEW = CAPTURES / "smg-1.13.0_cb-off" / "traces.otlp.pb.gz"


@pytest.fixture(scope="module")
def old(open_store: Store) -> dict[str, dict[str, object]]:
    return {str(row["client_request_id"]): row for row in assemble(open_store, bodies(OLD))}


@pytest.fixture(scope="module")
def new(open_store: Store) -> dict[str, dict[str, object]]:
    return {str(row["client_request_id"]): row for row in assemble(open_store, bodies(NEW))}


def test_the_gateways_own_calls_are_no_requests(old, new):
    assert {row["route"] for row in (*old.values(), *new.values())} == {
        "/v1/chat/completions", "/v1/completions", "/generate"
    }  # fmt: skip


def test_every_event_of_sending_is_an_attempt_of_the_one_request(old, new):
    assert {name: row["attempts"] for name, row in old.items() if row["attempts"] != 1} == {
        "client-req-177": 5
    }
    assert {name: row["attempts"] for name, row in new.items() if row["attempts"] != 1} == dict.fromkeys(
        ("client-req-177", "client-req-178", "client-req-179", "client-req-180"), 2
    )


def test_time_before_the_last_attempt_is_lost_to_retries(new):
    row = new["client-req-177"]

    assert round(exposed(row)["retry"]) == 53
    assert row["outcome"] == "error"


def test_the_events_tell_the_workers(new):
    row = new["client-req-161"]

    assert (row["prefill_worker"], row["decode_worker"]) == (
        "127.0.0.1:18001",
        "127.0.0.1:18002",
    )


def test_a_client_that_leaves_before_the_headers_is_499_or_no_status_at_all(old, new):
    assert new["client-req-194"]["outcome"] == "cancelled"
    assert old["client-req-194"]["outcome"] == "cancelled"


def test_a_refusal_for_want_of_workers_is_a_rejection(old):
    assert [old[f"client-req-{n}"]["outcome"] for n in (179, 180, 181, 182)] == ["rejected"] * 4


def test_a_200_says_nothing_of_how_the_stream_ended_without_engine_traces(new):
    """client-req-193 left mid-stream, 161 read to the end: the gateway's span is the same for both."""
    assert {new[f"client-req-{n}"]["outcome"] for n in (161, 193)} == {""}


@pytest.mark.parametrize(("key", "ends"), [("path", 500), ("uri", 80)])
def test_the_older_gateways_late_span_end_gives_way_to_the_engines(open_store, key, ends):
    out = Emitter()
    about = {"method": "POST", key: "/generate", "request_id": "c", "status_code": "200"}
    root = out.span("smg", "http_request", 0, 500, about, scope="smg", parent=caller(1))
    attributes = {"rid": "ab", "gen_ai.usage.completion_tokens": 4}
    out.span("sglang", "decode Req ab", 1, 80, attributes, parent=root)

    (row,) = assemble(open_store, [out.body()])

    assert row["e2e_ns"] == ends * MS
