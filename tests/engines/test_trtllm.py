"""TensorRT-LLM disaggregated in the shape of its source: the proxy's span, and what `/perf_metrics` tells."""

import json
from pathlib import Path

import pytest
from opentelemetry.trace import SpanKind

from collector.engines.trtllm import ADAPTER
from collector.receive.formats import FileReport, read_path
from collector.store import Store
from tests.engines.assembled import assemble, bodies, plausible, unexplained
from tests.engines.emitter import MS, T0, Emitter, caller, exposed

UNIX = T0 / 1e9
STEADY = 5000.0


def record(number: int = 1, base: float = UNIX, **more: object) -> dict[str, object]:
    """A record of a request that took 60 ms to its first token and 100 in all."""

    def leg(**times: float) -> dict[str, object]:
        timing = {name: base + ms / 1e3 for name, ms in times.items()}
        return {
            "request_id": number,
            "ctx_request_id": number,
            "perf_metrics": {"timing_metrics": {**timing, "kv_cache_size": 4096}},
        }

    return {
        "ctx_server": "ctx:8001",
        "gen_server": "gen:8002",
        "disagg_server_arrival_time": base,
        "disagg_server_first_token_time": base + 0.06,
        "ctx_perf_metrics": leg(
            arrival_time=2, first_scheduled_time=10, first_token_time=30, last_token_time=30
        ),
        "gen_perf_metrics": leg(
            arrival_time=32,
            kv_cache_transfer_start=35,
            kv_cache_transfer_end=45,
            first_scheduled_time=50,
            first_token_time=58,
            last_token_time=100,
        ),
        **more,
    }


def kept(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def enveloped() -> dict[str, object]:
    return {
        "polled_unix_s": UNIX + 1,
        "polled_steady_s": STEADY + 1,
        "perf_metrics": [record(base=STEADY)],
    }


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([record()]),
        json.dumps([record()], indent=1),
        json.dumps(record()),
        json.dumps(enveloped()),
    ],
)
def test_a_polled_answer_gives_every_phase_in_whatever_form_it_was_kept(open_store, tmp_path, text):
    exports = bodies(kept(tmp_path / "perf.json", text))

    (row,) = assemble(open_store, exports)

    assert unexplained(exports) == {}
    assert plausible(row)
    assert (row["outcome"], row["request_id"], round(row["ttft_ns"] / MS)) == ("ok", "1", 60)
    assert {part: round(ms) for part, ms in exposed(row).items()} == {
        "prefill_queue": 8, "prefill_compute": 20, "decode_queue": 8, "kv_import": 10, "first_decode_step": 8,
        "unattributed": 6,
    }  # fmt: skip
    assert (row["prefill_worker"], row["decode_worker"]) == ("ctx:8001", "gen:8002")
    assert open_store.query("SELECT bytes FROM transfers FINAL") == [(4096.0,)]


def test_importing_an_answer_twice_changes_nothing(open_store, tmp_path):
    exports = bodies(kept(tmp_path / "perf.json", json.dumps([record(1), record(2)])))

    rows = assemble(open_store, exports + exports)

    assert {(row["request_id"], row["spans"]) for row in rows} == {("1", 6), ("2", 6)}


def test_times_on_a_steady_clock_are_refused_with_what_to_do(tmp_path):
    report = FileReport("perf")
    path = kept(tmp_path / "perf.json", json.dumps([record(base=STEADY), record(2)]))

    read = list(read_path(path, report, lambda size: None))

    assert len(read) == 1
    assert "polled_steady_s" in str(report)


@pytest.mark.parametrize(
    "damaged",
    [
        {"ctx_perf_metrics": None, "gen_perf_metrics": None},
        {"disagg_server_arrival_time": None},
        {"disagg_server_arrival_time": "soon"},
        {"gen_perf_metrics": 7, "ctx_perf_metrics": {"ctx_request_id": 1}},
    ],
)
def test_a_damaged_record_costs_itself_alone(open_store, tmp_path, damaged):
    report = FileReport("perf")
    path = kept(tmp_path / "perf.json", json.dumps([record(**damaged), record(2), 5]))

    read = [found.body for found in read_path(path, report, lambda size: None)]
    rows = assemble(open_store, read)

    assert "2" in {row["request_id"] for row in rows}
    assert all(plausible(row) for row in rows)


def test_the_proxys_span_alone_gives_workers_and_first_token(open_store: Store):
    out = Emitter()
    about = {"gen_ai.request.id": "77", "gen_ai.latency.time_to_first_token": 0.05}
    events = [
        ("ctx_server.selected", 1, {"server": "ctx:1"}),
        ("gen_server.selected", 31, {"server": "gen:1"}),
    ]
    out.span(
        "trtllm",
        "disaggregated_request",
        0,
        90,
        about,
        parent=caller(3),
        kind=SpanKind.SERVER,
        events=events,
    )

    (row,) = assemble(open_store, [out.body()])

    assert unexplained([out.body()]) == {}
    assert (row["ttft_ns"], row["prefill_worker"], row["decode_worker"]) == (50 * MS, "ctx:1", "gen:1")
    assert exposed(row) == {"router_queue": 1, "unattributed": 49}


def test_a_retry_is_one_request_of_the_attempt_that_counted(open_store, tmp_path):
    """A retry has an id of its own, so that the context leg of the record may not be found again."""
    exports = bodies(kept(tmp_path / "perf.json", json.dumps([record(9, ctx_perf_metrics=None), record(10)])))

    rows = assemble(open_store, exports)

    assert unexplained(exports) == {}
    assert [(row["request_id"], row["outcome"], row["attempts"]) for row in rows] == [
        ("9", "ok", 1), ("10", "ok", 1),
    ]  # fmt: skip
    lost = next(row for row in rows if row["request_id"] == "9")
    assert plausible(lost)
    assert (lost["prefill_worker"], lost["decode_worker"]) == ("ctx:8001", "gen:8002")
    assert "prefill_compute" not in exposed(lost)
    assert exposed(lost)["unattributed"] > exposed(rows[1])["unattributed"]


def test_retries_are_told_by_the_proxys_counters():
    rules = [rule for rule in ADAPTER.signals if rule.signal == "retried_requests_total"]

    assert {(rule.metric, rule.part, rule.pool) for rule in rules} == {
        ("ctx_retry_requests", "prefill", "router"), ("gen_retry_requests", "decode", "router"),
    }  # fmt: skip


def test_context_servers_that_give_out_one_id_each_have_their_own_requests(open_store, tmp_path):
    alike = [record(1), record(1, ctx_server="ctx:8011"), record(1, base=UNIX + 60)]

    rows = assemble(open_store, bodies(kept(tmp_path / "perf.json", json.dumps(alike))))

    assert sorted((row["request_id"], row["spans"], row["prefill_worker"]) for row in rows) == [
        ("1", 6, "ctx:8001"), ("1", 6, "ctx:8001"), ("1", 6, "ctx:8011"),
    ]  # fmt: skip
