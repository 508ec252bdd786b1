"""Exact occupancy against counting by hand, and fits against bad points."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.occupancy import Occupancy
from analyzer.robust_fit import fit
from analyzer.verdict.quantities import union

INTERVALS = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 50), st.integers(0, 20), st.integers(1, 5)), max_size=25
)


def arrays(intervals: list[tuple[int, int, int, int]]) -> tuple[np.ndarray, ...]:  # type: ignore[type-arg]
    rows = np.array(intervals, float).reshape(-1, 4)
    return rows[:, 0].astype(np.uint64), rows[:, 1], rows[:, 1] + rows[:, 2], rows[:, 3]


@given(INTERVALS, st.integers(1, 3), st.floats(-5, 80))
def test_the_level_is_the_weight_of_the_intervals_that_hold_the_instant(
    intervals: list[tuple[int, int, int, int]], worker: int, at: float
) -> None:
    occupancy = Occupancy(*arrays(intervals))
    expected = sum(w for code, start, long, w in intervals if code == worker and start <= at < start + long)
    assert occupancy.level(np.array([worker], np.uint64), np.array([at]))[0] == expected


@given(INTERVALS, st.integers(1, 3), st.integers(0, 60), st.integers(1, 30))
def test_the_mean_is_the_integral_over_the_stretch(
    intervals: list[tuple[int, int, int, int]], worker: int, since: int, long: int
) -> None:
    occupancy = Occupancy(*arrays(intervals))
    until = since + long
    area = sum(
        w * max(0, min(start + lasts, until) - max(start, since))
        for code, start, lasts, w in intervals
        if code == worker
    )
    found = occupancy.mean(np.array([worker], np.uint64), np.array([since], float), np.array([until], float))
    np.testing.assert_allclose(found[0], area / long, atol=1e-9)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 30)), min_size=1, max_size=30))
def test_union_counts_overlap_once(intervals: list[tuple[int, int]]) -> None:
    covered = {at for start, long in intervals for at in range(start, start + long)}
    start = np.array([a for a, _ in intervals], float)
    end = np.array([a + b for a, b in intervals], float)
    assert union(start, end) == len(covered)


@settings(deadline=None)
@given(st.floats(0.01, 2), st.floats(1e-5, 1e-2), st.floats(0, 0.45), st.integers(0, 10**6))
def test_nearly_half_of_the_points_may_be_arbitrary(base: float, slope: float, bad: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = np.column_stack([np.ones(120), random.uniform(100, 5000, 120)])
    truth = x @ [base, slope]
    y = truth * random.normal(1, 0.01, 120)
    wrong = random.permutation(120)[: int(120 * bad)]
    y[wrong] *= random.uniform(3, 50, len(wrong))
    found = fit(x, y)
    assert found is not None
    middle = np.array([[1.0, 2500.0]])
    np.testing.assert_allclose(found.predict(middle), middle @ [base, slope], rtol=0.05)


def test_too_few_points_make_no_fit() -> None:
    assert fit(np.ones((3, 2)), np.ones(3)) is None
