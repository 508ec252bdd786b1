import pytest

from analyzer.signals import over_workers, read_histograms
from tests.signals.otlp import CUMULATIVE, DELTA, body, buckets, histogram, ns


@pytest.fixture
def steps(store):
    """What a worker's histogram grew by, point by point."""

    def read(worker, after=0, upto=3600):
        return store.rows(
            "SELECT count, sum, bounds, buckets, reset "
            "FROM signal_histograms(from_ns = {a:Int64}, to_ns = {b:Int64}, wanted = ['h']) "
            "WHERE worker = {w:String} ORDER BY time_ns",
            {"a": ns(after), "b": ns(upto), "w": worker},
        )

    return read


def _send(store, worker, *points, temporality=CUMULATIVE):
    store.insert_metrics([body(worker, histogram("h", *points, temporality=temporality))])


def test_an_increase_is_the_difference_of_every_bucket(store, worker, steps):
    _send(
        store,
        worker,
        buckets(1, [1, 2], [5, 5, 5], total=30),
        buckets(2, [1, 2], [5, 8, 6], total=41),
    )
    (step,) = steps(worker)
    assert (step["count"], step["sum"], step["buckets"], step["reset"]) == (4, 11, [0, 3, 1], 0)


def test_a_known_start_makes_the_first_point_an_increase(store, worker, steps):
    _send(store, worker, buckets(2, [1], [3, 1], total=5, start=1))
    assert [(step["count"], step["buckets"]) for step in steps(worker)] == [(4, [3, 1])]


@pytest.mark.parametrize("second", [([1, 2], [1, 0, 0]), ([1, 2], [9, 4, 9])])
def test_a_histogram_that_fell_anywhere_counts_from_zero(store, worker, steps, second):
    _send(store, worker, buckets(1, [1, 2], [5, 5, 5], total=30), buckets(2, *second, total=2))
    (step,) = steps(worker)
    assert (step["count"], step["buckets"], step["reset"]) == (sum(second[1]), second[1], 1)


def test_deltas_are_increases(store, worker, steps):
    points = [buckets(t, [1], [t, 1], total=t, start=t - 1) for t in (1, 2)]
    _send(store, worker, *points, temporality=DELTA)
    assert [step["buckets"] for step in steps(worker)] == [[1, 1], [2, 1]]


def test_changed_bounds_keep_those_at_which_both_counts_are_known(store, worker, steps):
    _send(
        store,
        worker,
        buckets(1, [1, 5, 10], [2, 3, 0, 1], total=20),
        # 5 is gone, 7 lies in a bucket that was empty, 3 in one that was not
        buckets(2, [1, 3, 7, 10], [4, 1, 4, 2, 2], total=60),
    )
    (step,) = steps(worker)
    assert step["bounds"] == [1, 7, 10]
    assert (step["count"], step["buckets"]) == (7, [2, 2, 2, 1])


def test_bounds_that_share_nothing_leave_count_and_sum(store, worker, steps):
    _send(store, worker, buckets(1, [2], [5, 5], total=20), buckets(2, [3], [9, 9], total=50))
    (step,) = steps(worker)
    assert (step["count"], step["sum"], step["bounds"], step["buckets"]) == (8, 30, [], [8])


def test_a_missing_sum_stays_missing(store, worker, steps):
    _send(store, worker, buckets(1, [1], [1, 0]), buckets(2, [1], [2, 0], total=3))
    assert steps(worker)[0]["sum"] is None


def test_a_saturated_histogram_gives_a_floor_and_its_true_mean(store, worker):
    _send(
        store,
        worker,
        buckets(1, [1, 5], [0, 0, 0], total=0.0),
        buckets(2, [1, 5], [0, 9, 261], total=2403.0),
    )
    (found,) = [h for h in read_histograms(store, ns(0), ns(9), ["h"]) if h.worker == worker]
    quantile = found.quantile(0.5)
    assert found.saturated
    assert (quantile.low, quantile.high, quantile.is_floor) == (5, None, True)
    assert found.mean == pytest.approx(8.9)
    assert found.quantile(0.02).high == 5


def test_workers_of_one_pool_add_up_at_the_bounds_they_share(store, worker):
    one, other = worker + "a", worker + "b"
    _send(store, one, buckets(1, [1, 2], [0, 0, 0], total=0), buckets(2, [1, 2], [1, 1, 1], total=6))
    _send(store, other, buckets(1, [1, 3], [0, 0, 0], total=0), buckets(2, [1, 3], [2, 2, 0], total=5))
    both = over_workers([h for h in read_histograms(store, ns(0), ns(9), ["h"]) if h.worker in (one, other)])
    assert (both.count, both.sum, both.bounds, both.buckets) == (7, 11, (1,), (3, 4))
