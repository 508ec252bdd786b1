"""Percentiles and shares with intervals that know about time."""

import numpy as np
import pytest

from analyzer.gate.estimate import attainment, difference, percentiles


def test_a_percentile_is_numpys_and_lies_in_its_interval() -> None:
    rng = np.random.default_rng(1)
    at, values = np.sort(rng.uniform(0, 600, 500)), rng.exponential(1.0, 500)

    p50, p95 = percentiles(at, values, (0.5, 0.95), seed=1)

    for found, q in ((p50, 0.5), (p95, 0.95)):
        assert found.interval.value == pytest.approx(np.quantile(values, q))
        assert found.interval.low <= found.interval.value <= found.interval.high


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        at, values = np.sort(rng.uniform(0, 600, 400)), rng.normal(5.0, 1.0, 400)
        (found,) = percentiles(at, values, (0.5,), seed)
        held += found.interval.low <= 5.0 <= found.interval.high
    assert held >= 50


def test_requests_that_fail_together_make_a_wider_interval() -> None:
    at = np.arange(400.0)
    together = np.arange(400) % 100 < 90
    scattered = np.random.default_rng(1).permutation(together)

    wide, narrow = attainment(at, together, 1).interval, attainment(at, scattered, 1).interval

    assert wide.value == narrow.value == pytest.approx(0.9)
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)


NEEDED = [(19, 0.5, False), (20, 0.5, True), (39, 0.95, False), (40, 0.95, True)]


@pytest.mark.parametrize(("count", "q", "told"), [*NEEDED, (199, 0.99, False), (200, 0.99, True)])
def test_a_percentile_needs_requests_beyond_it(count: int, q: float, told: bool) -> None:
    (found,) = percentiles(np.arange(float(count)), np.arange(float(count)), (q,), 1)

    assert (found.interval.value is not None) is told
    assert (found.reason is None) is told


def test_a_share_of_all_leaves_room_for_what_was_not_seen() -> None:
    found = attainment(np.arange(50.0), np.ones(50, bool), 1).interval

    assert found.value == 1.0
    assert 0.9 < found.low < 1.0


def test_a_difference_of_equals_is_near_0_and_of_unknowns_unknown() -> None:
    rng = np.random.default_rng(3)
    at = np.arange(300.0)
    one, other = (percentiles(at, rng.normal(1, 0.1, 300), (0.5,), seed)[0] for seed in (1, 2))

    apart, errors = difference(one, other)

    assert apart.low < 0 < apart.high
    assert abs(errors) < 4
    assert difference(one, percentiles(at[:3], at[:3], (0.5,), 1)[0]) == (type(apart)(None), None)


def test_all_requests_at_one_instant_do_not_break_it() -> None:
    (found,) = percentiles(np.zeros(50), np.arange(50.0), (0.5,), 1)

    assert found.interval.value == pytest.approx(24.5)
