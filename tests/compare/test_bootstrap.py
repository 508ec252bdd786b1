"""Intervals by resampling blocks, on counts whose truth is known."""

import numpy as np
import pytest

from analyzer.compare.bootstrap import Interval, Resampled, standardised

PART, WHOLE = 0, 1


def counts(random: np.random.Generator, truth: float, blocks: int = 100, each: int = 5) -> np.ndarray:
    """(blocks, 1, 2): how many of `each` requests of a block succeeded, and how many there were."""
    good = random.binomial(each, truth, blocks)
    return np.stack([good, np.full(blocks, each)], axis=1)[:, None, :].astype(float)


def interval(found: np.ndarray, seed: int = 0) -> Interval:
    value, draws = Resampled(found, seed).fraction(PART, WHOLE)
    return Interval.of(float(value[0]), draws[:, 0])


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    found = [interval(counts(random, 0.9), number) for number in range(200)]
    held = sum(item.low <= 0.9 <= item.high for item in found)
    assert 180 <= held <= 199


def test_requests_that_fail_together_widen_it() -> None:
    random = np.random.default_rng(7)
    apart = counts(random, 0.8)
    together = np.stack([random.binomial(1, 0.8, 100) * 5, np.full(100, 5)], axis=1)[:, None, :].astype(float)
    narrow, wide = interval(apart), interval(together)
    assert wide.high - wide.low > 1.7 * (narrow.high - narrow.low)


def test_the_same_seed_gives_the_same_interval() -> None:
    found = counts(np.random.default_rng(1), 0.7)
    assert interval(found, 3) == interval(found, 3)
    assert interval(found, 3) != interval(found, 4)


@pytest.mark.parametrize("truth", [0.0, 1.0])
def test_all_alike_leaves_room_for_what_was_not_seen(truth: float) -> None:
    found = interval(counts(np.random.default_rng(1), truth, blocks=10, each=2))
    assert found.value == truth
    assert 0.05 < found.high - found.low < 0.3
    assert interval(counts(np.random.default_rng(1), truth)).high - found.low < 1


def test_nothing_to_divide_by_is_unknown() -> None:
    assert interval(np.zeros((100, 1, 2))) == Interval(None)


def test_the_mix_is_that_of_the_weights() -> None:
    value, draws = np.array([0.9, 0.5, np.nan]), np.array([[0.8, 0.4, np.nan], [np.nan, 0.6, np.nan]])
    whole, drawn = standardised(value, draws, np.array([0.75, 0.25, 0.0]))
    assert whole == pytest.approx(0.8)
    assert drawn.tolist() == pytest.approx([0.7, 0.6])


def test_no_common_bucket_gives_no_figure() -> None:
    whole, drawn = standardised(np.array([1.0]), np.ones((2, 1)), np.array([0.0]))
    assert Interval.of(whole, drawn) == Interval(None)
