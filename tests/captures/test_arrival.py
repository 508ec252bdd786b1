"""A capture tells the same however it arrives, and the same as the plain reading of the rules."""

import random
from collections import defaultdict

import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.assemble.oracle_spans import read_spans
from tests.assemble.otlp import body, clear, differences, expected, rows
from tests.captures.load import bodies

NAMES = [
    "vllm/traced-clean",
    "vllm/fault-a1-client-disconnect-midstream",
    "vllm/fault-b-orphaned-kv-decode-never-called",
    "vllm/traced-connector",
    "dynamo/baseline-bootstrap",
    "dynamo/fault-decode-kill-mig0",
    "dynamo/fault-prefill-saturated",
]


def wrong(got, spans):
    """Trace → columns in which the store and the oracle differ."""
    traces = defaultdict(list)
    for span in spans:
        traces[span.trace_id].append(span)
    found = {}
    for (trace, _), want in zip(traces.items(), expected(traces.values()), strict=True):
        found[trace.hex()] = differences(got.get(trace), want)
    return {trace: columns for trace, columns in found.items() if columns}


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_shuffled_in_halves_an_hour_apart_and_partly_twice_equals_the_oracle(store, name):
    spans = read_spans(bodies(name))
    random.Random(name).shuffle(spans)
    first, second = spans[: len(spans) // 2], spans[len(spans) // 2 :]
    clear(store)
    assembler = Assembler(store)

    store.insert_traces([body(first)])
    assembler.catch_up()
    store.command(
        "ALTER TABLE identity UPDATE ingested_at = ingested_at - 3700 WHERE 1 SETTINGS mutations_sync = 2"
    )
    store.insert_traces([body(second), body(first)])
    assembler.catch_up()

    assert wrong(rows(store), [*spans, *first]) == {}


@pytest.mark.parametrize("name", ["vllm/baseline", "dynamo/baseline-sync"])
def test_a_capture_twice_counts_its_copies_and_answers_the_same(store, assembled, name):
    once = {row["trace_id"]: row for row in assembled(name)}
    store.insert_traces(bodies(name))
    Assembler(store).catch_up()

    twice = rows(store)
    assert len(twice) == len(once)
    for row in twice.values():
        before = once[row["trace_id"]]
        assert row["duplicate_spans"] == before["duplicate_spans"] + before["spans"]
        assert {**row, "duplicate_spans": 0} == {**before, "duplicate_spans": 0}
