"""The store's answer, held equal to the plain reading of the rules on random requests, column by column."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from analyzer.assemble import assembler
from analyzer.assemble.assembler import Assembler
from analyzer.assemble.oracle_spans import read_spans
from collector.store import Store
from tests.assemble.otlp import body, clear, differences, expected, rows
from tests.assemble.random_requests import request

SEEDS = st.lists(st.integers(0, 2**48), min_size=100, max_size=200, unique=True)

# A failing example names the seed, so nothing is shrunk: every example is a run of the store.
store_property = settings(
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.large_base_example,
    ],
)


@pytest.fixture(scope="module", autouse=True)
def one_clock() -> Iterator[None]:
    """Random stamps contradict causality on purpose, and the oracle corrects no clocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembler, "slices_to_correct", lambda store, scratch, version: [])
        yield


def wrong(store: Store, requests: dict[int, list]) -> dict[int, dict[str, object]]:
    """Seed → columns in which the store and the oracle differ, with both values."""
    got = rows(store)
    found = {}
    for (seed, spans), want in zip(requests.items(), expected(requests.values()), strict=True):
        found[seed] = differences(got.get(spans[0].trace_id), want)
    return {seed: columns for seed, columns in found.items() if columns}


def adds_up(store: Store) -> None:
    """Exposed time adds up to TTFT, decode parts to the decode interval; nothing is negative or absurd."""
    for row in rows(store).values():
        assert bool(row["exposed_ns"]) == (row["ttft_ns"] is not None)
        assert sum(row["exposed_ns"]) == (row["ttft_ns"] or 0)
        assert all(0 <= part < 10**11 for part in (*row["exposed_ns"], *row["exposed_decode_ns"]))
        if row["exposed_decode_ns"]:
            assert sum(row["exposed_decode_ns"]) == row["last_token_at"] - row["first_token_at"]
        assert sum(ns for _, ns, _ in row["composites"]) <= (row["exposed_ns"] or (0,))[-1]


@settings(store_property, max_examples=4)
@given(SEEDS)
def test_every_column_of_every_request_equals_the_oracle(store, seeds):
    clear(store)
    requests = {seed: request(seed) for seed in seeds}
    store.insert_traces([body(spans) for spans in requests.values()])

    Assembler(store).catch_up()

    assert wrong(store, requests) == {}
    adds_up(store)


@settings(store_property, max_examples=2)
@given(SEEDS, st.randoms(use_true_random=False), st.integers(2, 5))
def test_neither_order_nor_batches_nor_repeats_change_a_row(store, seeds, rng, steps):
    clear(store)
    requests = {seed: request(seed) for seed in seeds}
    spans = [span for of_request in requests.values() for span in of_request]
    rng.shuffle(spans)
    repeated = spans[: len(spans) // 10]
    requests = {
        seed: mine + [s for s in repeated if s.trace_id == mine[0].trace_id]
        for seed, mine in requests.items()
    }
    spans += repeated
    kept_up = Assembler(store)

    for number in range(steps):
        store.insert_traces([body(spans[number::steps])])
        kept_up.catch_up() if number % 2 else kept_up.step()
    kept_up.catch_up()

    assert wrong(store, requests) == {}


@given(st.integers(0, 2**48))
def test_the_oracle_reads_what_a_body_says(seed):
    spans = request(seed)
    assert read_spans([body(spans)]) == spans
