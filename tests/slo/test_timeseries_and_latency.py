"""Points over time and percentiles, against NumPy and by hand."""

import numpy as np
import pytest

from analyzer.slo.latency import Percentiles, latency
from analyzer.slo.objectives import Objective, Objectives
from analyzer.slo.scope import Scope
from analyzer.slo.timeseries import default_step, timeseries
from collector.store.store import Store
from tests.api.rows import NOON_NS, a_request, insert

SECOND = 10**9
MINUTES = Scope(NOON_NS + 30 * SECOND, NOON_NS + 150 * SECOND)
OBJECTIVES = Objectives((Objective("all", ttft=1.0, tpot=0.05),))


def test_points_cover_the_window_and_its_partial_ends(store: Store) -> None:
    insert(store, [a_request(29), a_request(31), a_request(59, ttft=3), a_request(149), a_request(150)])
    points = timeseries(store, MINUTES, OBJECTIVES, 60)
    assert [(point.start_ns - NOON_NS) // SECOND for point in points] == [0, 60, 120]
    assert [point.seconds for point in points] == [30, 60, 30]
    assert [(point.requests, point.met, point.missed) for point in points] == [
        (2, 1, 1),
        (0, 0, 0),
        (1, 1, 0),
    ]
    assert [point.attainment for point in points] == [0.5, None, 1.0]
    assert points[0].goodput_rps == 1 / 30


def test_misses_are_named_by_their_longest_exposed_phase(store: Store) -> None:
    insert(
        store,
        [
            a_request(31, ttft=3, exposed={"prefill_queue": 2, "kv_transfer": 0.5}),
            a_request(32, ttft=3, exposed={"kv_transfer": 1.6}),
            a_request(33, ttft=3, exposed={"retry": 1.6}),
            a_request(34, ttft=3),
            a_request(35, tpot=0.9, exposed={"prefill_queue": 0.4}),
            a_request(36, ttft=None, outcome="error"),
            a_request(37, exposed={"prefill_queue": 0.4}),
            a_request(38, outcome="cancelled", exposed={"prefill_queue": 0.4}),
        ],
    )
    point = timeseries(store, MINUTES, OBJECTIVES, 3600)[0]
    assert point.by_phase == {
        "prefill_queue": 1,
        "kv_transfer": 1,
        "retry": 1,
        "unattributed": 1,
        "decode": 1,
        "unknown": 1,
    }
    assert point.by_cause == {"insufficient_evidence": 6}
    assert point.missed == 6


@pytest.mark.parametrize(("hours", "step"), [(1, 60), (24, 1800), (0.01, 1), (24 * 400, 460800)])
def test_the_default_step_gives_about_sixty_points(hours: float, step: int) -> None:
    assert default_step(Scope(0, round(hours * 3600) * SECOND)) == step


def test_percentiles_are_linear_between_ranks(store: Store) -> None:
    values = np.random.default_rng(4).exponential(1.0, 137).round(6)
    insert(store, [a_request(31 + number / 10, ttft=float(value)) for number, value in enumerate(values)])
    (row,) = latency(store, MINUTES, OBJECTIVES, "ttft")
    expected = np.quantile(values, [0.5, 0.9, 0.95, 0.99, 1.0])
    assert [row.p50, row.p90, row.p95, row.p99, row.max] == pytest.approx(list(expected), abs=1e-8)
    assert (row.key, row.count) == ("all", 137)


def test_a_censored_ttft_counts_as_its_age_and_an_unknown_one_not_at_all(store: Store) -> None:
    insert(store, [a_request(31, ttft=7, censored=1, outcome="timeout"), a_request(32, ttft=None)])
    assert latency(store, MINUTES, OBJECTIVES, "ttft") == [Percentiles("all", 1, 7, 7, 7, 7, 7)]


def test_a_phase_is_exposed_time_or_its_own_duration_and_zero_without_it(store: Store) -> None:
    insert(store, [a_request(31, exposed={"kv_transfer": 0.2}, own={"kv_transfer": 0.4}), a_request(32)])
    (exposed,) = latency(store, MINUTES, OBJECTIVES, "kv_transfer")
    (raw,) = latency(store, MINUTES, OBJECTIVES, "kv_transfer", raw=True)
    assert (exposed.count, exposed.p50, exposed.max) == (2, 0.1, 0.2)
    assert (raw.count, raw.p50, raw.max) == (2, 0.2, 0.4)


def test_what_no_phase_covers_has_no_duration_of_its_own(store: Store) -> None:
    with pytest.raises(ValueError, match="unattributed"):
        latency(store, MINUTES, OBJECTIVES, "unattributed", raw=True)


def test_gaps_between_tokens_are_not_measured(store: Store) -> None:
    insert(store, a_request(31))
    assert latency(store, MINUTES, OBJECTIVES, "itl") == [Percentiles("all", 0)]


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("model", {"llama": 2, "qwen": 1}),
        ("tenant", {None: 2, "acme": 1}),
        ("input_bucket", {"0-1K": 2, "4-16K": 1}),
        ("output_bucket", {"0-1K": 3}),
        ("worker", {"prefill-0": 3, "decode-0": 2, "decode-1": 1}),
        ("decode_worker", {"decode-0": 2, "decode-1": 1}),
    ],
)
def test_groups(store: Store, by: str, keys: dict[str | None, int]) -> None:
    insert(
        store,
        [
            a_request(31, tenant="acme"),
            a_request(32, model="qwen", input_tokens=4096),
            a_request(33, decode_worker="decode-1"),
        ],
    )
    assert {row.key: row.count for row in latency(store, MINUTES, OBJECTIVES, "ttft", by)} == keys
