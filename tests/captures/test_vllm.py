"""Requests of real vLLM runs against what their clients saw."""

import statistics
from dataclasses import replace

import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.assemble.oracle_spans import read_spans
from collector.phases import TTFT_PARTS
from tests.assemble.otlp import body, clear, rows
from tests.captures.load import bodies, client

MS = 1_000_000
HOUR_NS = 3600 * 10**9
BASELINE, CLEAN = "vllm/baseline", "vllm/traced-clean"
FAULT_A1 = "vllm/fault-a1-client-disconnect-midstream"
FAULT_B = "vllm/fault-b-orphaned-kv-decode-never-called"
FAULT_D = "vllm/fault-d-prefill-saturated"


def by_trace(rows):
    found = {row["trace_id"].hex(): row for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize(("name", "requests"), [(BASELINE, 260), (CLEAN, 220)])
def test_every_request_and_warm_up_is_one_row_with_what_the_client_was_told(assembled, name, requests):
    found = by_trace(assembled(name))
    truth = client(name)
    assert len(truth) == requests
    assert found.keys() == {seen["trace_id"] for seen in (*truth, *client(name, "client_warmup"))}
    for seen in truth:
        row = found[seen["trace_id"]]
        assert (row["outcome"], row["complete"]) == ("ok", 1)
        assert row["input_tokens"] == seen["usage"]["prompt_tokens"]
        assert row["output_tokens"] == seen["usage"]["completion_tokens"]
        assert row["client_request_id"] == seen["req_id"]


@pytest.mark.parametrize(("name", "sent"), [(BASELINE, 5), (CLEAN, 10)])
def test_each_request_is_made_of_all_its_spans(assembled, name, sent):
    spans = {}
    for span in read_spans(bodies(name)):
        spans.setdefault(span.trace_id.hex(), set()).add(span.identity)
    for trace, row in by_trace(assembled(name)).items():
        assert (len(spans[trace]), row["spans"], row["joined_by"]) == (sent, sent, ("trace_id",))


@pytest.mark.parametrize("name", [BASELINE, CLEAN])
def test_ttft_is_the_clients_within_seven_percent_at_the_median_and_says_how_it_is_known(assembled, name):
    found = by_trace(assembled(name))
    errors = []
    for seen in client(name):
        row, ttft = found[seen["trace_id"]], seen["token_ns"][0] - seen["send_ns"]
        errors.append(abs(row["ttft_ns"] - ttft) / ttft)
        assert row["ttft_source"] == "engine_first_token"
        assert row["ttft_uncertainty_ns"] > 0
    assert statistics.median(errors) < 0.07


@pytest.mark.parametrize(
    "name", [BASELINE, CLEAN, FAULT_A1, FAULT_B, FAULT_D, "vllm/traced-connector", "vllm/smoke"]
)
def test_no_duration_is_negative_or_absurd(assembled, name):
    for row in assembled(name):
        assert sum(row["exposed_ns"]) == (row["ttft_ns"] or 0)
        durations = [
            *row["exposed_ns"],
            *row["exposed_decode_ns"],
            *row["phase_ns"],
            row["tpot_ns"] or 0,
            row["e2e_ns"] or 0,
        ]
        assert all(0 <= ns < HOUR_NS for ns in (*durations, row["ttft_ns"] or 0))
        assert all(start <= end for _, _, start, end, *_ in row["intervals"])
        if row["ended_at"]:
            assert (row["first_token_at"] or 0) <= row["ended_at"]


def test_impossible_times_of_a_failed_load_are_discarded_and_said(store, assembled):
    """What a failed KV load was seen to leave behind: a queue of -2882 s and as long a prefill."""
    trace = next(row["trace_id"] for row in assembled(BASELINE))
    lie = {"gen_ai.latency.time_in_queue": "-2882.1", "gen_ai.latency.time_in_model_prefill": "2882.2"}
    spans = [
        replace(span, attributes={**span.attributes, **lie}) if span.name == "llm_request" else span
        for span in read_spans(bodies(BASELINE))
        if span.trace_id == trace
    ]
    clear(store)
    store.insert_traces([body(spans)])
    Assembler(store).catch_up()

    (row,) = rows(store).values()
    assert row["notes"] == ("impossible_duration",)
    assert row["exposed_ns"][TTFT_PARTS.index("prefill_compute")] == 0
    assert sum(row["exposed_ns"]) == row["ttft_ns"] < HOUR_NS
    assert all(end - start < HOUR_NS for _, _, start, end, *_ in row["intervals"])


def test_workers_are_named_as_the_router_calls_them(assembled):
    for row in assembled(CLEAN):
        assert (row["prefill_worker"], row["decode_worker"]) == ("127.0.0.1:8100", "127.0.0.1:8200")
        sides = {
            "prefill_queue": "127.0.0.1:8100",
            "prefill_compute": "127.0.0.1:8100",
            "kv_publish": "127.0.0.1:8100",
        }
        sides |= dict.fromkeys(
            ("decode_queue", "kv_transfer", "kv_import", "first_decode_step"), "127.0.0.1:8200"
        )
        for phase, _, _, _, worker, *_ in row["intervals"]:
            assert worker == sides.get(phase, worker)


def test_clients_that_left_are_cancelled(assembled):
    found = by_trace(assembled(FAULT_A1))
    left = [seen for seen in client(FAULT_A1) if seen["status"] == "aborted"]
    assert len(left) == 20
    for seen in left:
        row = found[seen["trace_id"]]
        # five had everything sent before they hung up: no server can know
        everything_sent = row["output_tokens"] == seen["max_tokens"]
        assert row["outcome"] == ("ok" if everything_sent else "cancelled")
    assert sum(found[seen["trace_id"]]["outcome"] == "cancelled" for seen in left) == 15
    assert all(found[s["trace_id"]]["outcome"] == "ok" for s in client(FAULT_A1) if s["status"] == "ok")


def test_prefill_without_decode_is_no_success(assembled):
    found = by_trace(assembled(FAULT_B))
    assert len(found) == len(client(FAULT_B)) == 14
    for row in found.values():
        assert (row["outcome"], row["complete"]) == ("", 0)
        assert row["notes"] == ("no_request_span",)


def test_behind_a_saturated_prefill_the_slow_ones_waited_for_it(assembled):
    found = by_trace(assembled(FAULT_D))
    burst = [found[seen["trace_id"]] for seen in client(FAULT_D)]
    slow = sorted(burst, key=lambda row: row["ttft_ns"])[len(burst) // 2 :]
    assert len(slow) == 30
    for row in slow:
        exposed = dict(zip(TTFT_PARTS, row["exposed_ns"], strict=True))
        assert max(exposed, key=exposed.__getitem__) == "prefill_queue"


def test_decodes_wait_for_kv_is_a_composite_unless_the_connector_tells(assembled):
    within = ("kv_transfer", "decode_queue", "kv_import")
    for row in assembled(BASELINE):
        exposed = dict(zip(TTFT_PARTS, row["exposed_ns"], strict=True))
        assert not any(exposed[phase] for phase in within)
    held = [ns for row in assembled(BASELINE) for covers, ns, _ in row["composites"] if covers == within]
    assert statistics.median(held) > 10 * MS
    told = [row["exposed_ns"][TTFT_PARTS.index("kv_transfer")] for row in assembled(CLEAN)]
    assert statistics.median(told) > MS
