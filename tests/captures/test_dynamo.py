"""Requests of real Dynamo runs against what their clients saw."""

import statistics

import pytest

from collector.phases import TTFT_PARTS
from tests.captures.load import client

MS = 1_000_000
BASELINES = [("dynamo/baseline-sync", 165), ("dynamo/baseline-bootstrap", 300)]


def by_id(rows):
    found = {row["request_id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def matched(rows, name):
    """(row, what the client saw) of every request."""
    rows = by_id(rows)
    return [(rows[seen["response_id"].removeprefix("chatcmpl-")], seen) for seen in client(name)]


@pytest.mark.parametrize(("name", "requests"), BASELINES)
def test_no_request_is_split_or_doubled_and_each_says_what_the_client_was_told(assembled, name, requests):
    rows = assembled(name)
    assert len(rows) == len({row["trace_id"] for row in rows}) == requests
    for row, seen in matched(rows, name):
        assert (row["outcome"], row["complete"], row["censored"]) == ("ok", 1, 0)
        assert row["input_tokens"] == seen["usage"]["prompt_tokens"]
        assert row["output_tokens"] == seen["usage"]["completion_tokens"]


@pytest.mark.parametrize(("name", "requests"), BASELINES)
def test_ttft_is_the_clients_within_milliseconds(assembled, name, requests):
    pairs = matched(assembled(name), name)
    errors = sorted(
        abs(row["ttft_ns"] - (seen["first_token_ns"] - seen["send_ns"])) / MS for row, seen in pairs
    )
    assert statistics.median(errors) < 5
    assert errors[int(0.95 * requests)] < 60
    assert {row["ttft_source"] for row, _ in pairs} == {"router_first_token"}
    assert {row["ttft_uncertainty_ns"] for row, _ in pairs} == {0}


def test_a_slow_transfer_is_never_reported_as_prefill_compute(assembled):
    name = "dynamo/kv-transfer-1GBs-sync"
    pairs = matched(assembled(name), name)
    assert len(pairs) == 20
    long = [row for row, _ in pairs if row["input_tokens"] >= 4000]
    assert long
    for row, _ in pairs:
        assert row["exposed_ns"][TTFT_PARTS.index("prefill_compute")] == 0
        assert row["phase_ns"][TTFT_PARTS.index("prefill_compute")] == 0
    for row in long:
        bounding = [ns for covers, ns, reason in row["composites"] if "kv_transfer" in covers and reason]
        assert sum(bounding) > 500 * MS


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("dynamo/fault-client-cancel", "cancelled"), ("dynamo/fault-decode-kill-mig0", "interrupted")],
)
def test_streams_that_did_not_finish_are_no_successes(assembled, name, outcome):
    rows = by_id(assembled(name))
    broken = 0
    for seen in client(name):
        row = rows.get((seen.get("response_id") or "").removeprefix("chatcmpl-"))
        if row is None:
            continue
        finished = seen.get("finish_reason") is not None
        assert (row["outcome"] == "ok") == finished, seen
        broken += row["outcome"] == outcome
    assert broken >= 12


@pytest.mark.parametrize(
    ("name", "requests", "model"),
    [
        ("dynamo/router-default-roundrobin", 12, "tiny"),
        ("dynamo/agg-no-disagg", 12, "tiny"),
        ("dynamo/all-signals-lifecycle", 52, "tiny"),
    ],
)
def test_other_modes_give_every_request_with_its_model_and_workers(assembled, name, requests, model):
    rows = assembled(name)
    assert len(rows) == requests
    for row in rows:
        assert (row["outcome"], row["model"], row["complete"]) == ("ok", model, 1)
        assert row["decode_worker"]
        assert sum(row["exposed_ns"]) == row["ttft_ns"]
