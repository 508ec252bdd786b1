"""The pure readings of rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.signals import (
    HistogramSummary,
    Present,
    dead_metrics,
    gauges,
    histograms,
    increases,
    missing,
    over_workers,
    total,
)

S = 1_000_000_000


def _reading(at, value, series=1, signal="queue_depth", worker="w"):
    return {
        "pool": "prefill", "worker": worker, "model": "m", "signal": signal, "part": "", "metric": "q",
        "series": series, "time_ns": int(at * S), "value": value,
    }  # fmt: skip


def test_the_last_reading_holds_until_it_is_stale():
    (gauge,) = gauges([_reading(10, 4.0), _reading(20, 6.0)])
    assert [gauge.at(int(t * S), stale_after_s=30) for t in (9.9, 10, 19.9, 20, 50, 50.1)] == [
        None, 4, 4, 6, 6, None,
    ]  # fmt: skip


def test_a_mean_weighs_by_time_and_says_how_long_it_is_known():
    (gauge,) = gauges([_reading(0, 100.0), _reading(10, 4.0), _reading(20, 6.0)])
    level = gauge.over(10 * S, 60 * S, stale_after_s=20)
    assert level.mean == pytest.approx((10 * 4 + 20 * 6) / 30)
    assert (level.low, level.high, level.known_s) == (4, 6, 30)
    assert gauge.over(100 * S, 120 * S, stale_after_s=20) is None


def test_a_reading_from_before_the_window_holds_in_it():
    (gauge,) = gauges([_reading(0, 3.0)])
    assert gauge.over(5 * S, 15 * S).mean == 3


@pytest.mark.parametrize(
    ("signal", "expected"),
    [("queue_depth", 6), ("kv_used_fraction", 3), ("oldest_request_age", 4), ("up", 2)],
)
def test_engines_of_one_worker_become_one(signal, expected):
    rows = [_reading(10, 2.0, series=1, signal=signal), _reading(10, 4.0, series=2, signal=signal)]
    (gauge,) = gauges(rows)
    assert gauge.at(10 * S) == expected


def test_an_engine_that_fell_silent_no_longer_counts():
    rows = [_reading(10, 2.0, series=1), _reading(10, 4.0, series=2), _reading(200, 5.0, series=1)]
    (gauge,) = gauges(rows)
    assert gauge.at(200 * S) == 5


@given(st.lists(st.tuples(st.integers(0, 500), st.floats(0, 100)), min_size=1, max_size=40), st.randoms())
def test_the_order_of_rows_does_not_matter(readings, random):
    rows = [_reading(at, value, series=index % 3) for index, (at, value) in enumerate(readings)]
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert gauges(rows) == gauges(shuffled)


@given(st.lists(st.tuples(st.integers(0, 300), st.floats(0, 100)), min_size=1, max_size=30))
def test_a_mean_lies_between_the_extremes_and_within_the_window(readings):
    (gauge,) = gauges([_reading(at, value) for at, value in readings])
    level = gauge.over(50 * S, 250 * S)
    if level:
        assert level.low - 1e-9 <= level.mean <= level.high + 1e-9
        assert 0 < level.known_s <= 200


def test_rates_divide_by_one_series_time_and_unknown_is_no_zero():
    row = {
        "pool": "decode", "worker": "w", "model": "", "signal": "generation_tokens_total", "part": "",
        "metric": "g", "increase": 40.0, "series_seconds": 20.0, "series_count": 2, "unknown_steps": 2,
        "resets": 0, "first_ns": 0, "last_ns": S,
    }  # fmt: skip
    (known, unknown) = increases([row, {**row, "increase": None, "series_seconds": 0.0}])
    assert (known.rate, unknown.value, unknown.rate) == (4, None, None)
    assert (total([known, unknown]), total([unknown])) == (40, None)


def _change(worker, metric, changed, moves=1, signal="running", points=10):
    return {
        "pool": "decode", "worker": worker, "signal": signal, "part": "", "metric": metric, "moves": moves,
        "points": points, "changed": changed, "last_value": 0.0,
    }  # fmt: skip


def test_a_metric_that_stands_still_under_traffic_is_dead():
    rows = [
        _change("busy", "moving", 1),
        _change("busy", "standing", 0),
        _change("busy", "failures", 0, moves=0, signal="transfer_failures_total"),
        _change("busy", "new", 0, points=2),
        _change("idle", "standing", 0),
    ]
    assert [(d.worker, d.metric) for d in dead_metrics(rows)] == [("busy", "standing")]
    assert [d.worker for d in dead_metrics(rows, busy=["idle"])] == ["idle"]


def test_what_must_have_moved_is_dead_when_it_did_not():
    rows = [_change("w", "aborts", 0, moves=0, signal="aborted_requests_total")]
    assert dead_metrics(rows, busy=["w"]) == []
    assert dead_metrics(rows, busy=["w"], must_move=["aborted_requests_total"])[0].metric == "aborts"


def test_missing_signals_are_named_by_pool():
    have = [Present("decode", "w", "running", "", "m", "vllm", 3, S)]
    wanted = {"decode": ["running", "queue_depth"], "prefill": ["running"]}
    assert missing(have, wanted) == [("decode", "queue_depth"), ("prefill", "running")]


def _summary(**fields):
    values = {
        "pool": "decode", "worker": "w", "model": "", "metric": "h", "unit": "s", "count": 10, "sum": 5.0,
        "bounds": (1.0, 2.0), "buckets": (2, 3, 5), "resets": 0,
    }  # fmt: skip
    return HistogramSummary(**{**values, **fields})


def test_a_quantile_is_known_to_its_bucket():
    found = _summary()
    assert [(q.low, q.high) for q in map(found.quantile, (0.2, 0.5, 0.51, 1))] == [
        (None, 1.0), (1.0, 2.0), (2.0, None), (2.0, None),
    ]  # fmt: skip
    assert (found.above_top, found.saturated) == (0.5, False)


def test_without_buckets_there_is_a_mean_and_no_quantile():
    found = _summary(bounds=(), buckets=())
    assert (found.mean, found.quantile(0.5), found.above_top) == (0.5, None, None)
    assert _summary(count=0).mean is None


def test_pools_are_never_added_up():
    with pytest.raises(ValueError, match="pools"):
        over_workers([_summary(), _summary(pool="prefill")])


def _row(bounds, counts, **fields):
    values = {
        "pool": "p", "worker": "w", "model": "", "metric": "h", "unit": "", "bounds": bounds,
        "count": sum(counts), "sum": 1.0, "without_sum": 0, "buckets": counts, "without_buckets": 0,
        "resets": 0,
    }  # fmt: skip
    return {**values, **fields}


def test_a_part_without_a_sum_or_buckets_takes_them_from_the_whole():
    rows = [_row([1.0], [1, 1]), _row([2.0], [1, 1], without_sum=1), _row([3.0], [1, 1], without_buckets=2)]
    (found,) = histograms(rows)
    assert (found.count, found.sum, found.buckets) == (6, None, ())


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(1, 8), unique=True, min_size=1), st.lists(st.integers(0, 9), max_size=12)
        ),
        min_size=1,
        max_size=4,
    )
)
def test_merged_counts_are_those_of_the_values_themselves(members):
    rows = []
    for bounds, values in members:
        ordered = sorted(map(float, bounds))
        counts = [sum(v <= b for v in values) for b in ordered] + [len(values)]
        buckets = [after - before for before, after in zip([0, *counts], counts, strict=False)]
        rows.append(_row(ordered, buckets))
    (found,) = histograms(rows)
    everything = [value for _, values in members for value in values]
    assert found.count == len(everything)
    seen = 0
    for bound, count in zip(found.bounds, found.buckets, strict=False):
        seen += count
        assert seen == sum(value <= bound for value in everything)
