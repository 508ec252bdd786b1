"""What the stock OpenTelemetry SDK encodes is stored and read as it was recorded."""

import bisect
import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import (
    ExplicitBucketHistogramAggregation,
    ExponentialBucketHistogramAggregation,
    View,
)
from opentelemetry.sdk.resources import Resource

_EXAMPLES = itertools.count()
DELTA = dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA)


class Sender:
    """A process that records metrics with the SDK and exports when told."""

    def __init__(self, store, worker, temporality=None, views=()):
        self._store = store
        self._reader = InMemoryMetricReader(preferred_temporality=temporality)
        resource = Resource({"service.name": "vllm", "service.instance.id": worker, "pd.pool": "decode"})
        self._provider = MeterProvider([self._reader], resource, views=views, shutdown_on_exit=False)
        self.meter = self._provider.get_meter("test")

    def export(self):
        return self._store.insert_metrics(
            [encode_metrics(self._reader.get_metrics_data()).SerializeToString()]
        )

    def close(self):
        self._provider.shutdown()


@pytest.fixture
def sender(store, worker):
    made = []

    def make(temporality=None, views=()):
        made.append(Sender(store, worker, temporality, views))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_every_instrument_arrives(store, sender, worker, points):
    sdk = sender()
    meter = sdk.meter
    meter.create_counter("counter").add(2)
    meter.create_up_down_counter("up_down").add(-3)
    meter.create_histogram("histogram", explicit_bucket_boundaries_advisory=[1, 10]).record(5)
    meter.create_observable_gauge("gauge", [lambda _: [Observation(1.5, {"model": "m"})]])
    meter.create_observable_counter("observed", [lambda _: [Observation(7)]])
    result = sdk.export()
    found = {row["metric"]: row for row in points(worker)}
    assert not result.refused
    assert {name: row["kind"] for name, row in found.items()} == {
        "counter": "sum", "up_down": "sum", "histogram": "histogram", "gauge": "gauge", "observed": "sum",
    }  # fmt: skip
    assert [found[name]["value"] for name in ("counter", "up_down", "gauge", "observed")] == [2, -3, 1.5, 7]
    assert [bool(found[name]["monotonic"]) for name in ("counter", "up_down")] == [True, False]
    assert (found["histogram"]["bounds"], found["histogram"]["buckets"]) == ([1, 10], [0, 1, 0])
    assert (found["gauge"]["model"], found["gauge"]["pool"]) == ("m", "decode")


@pytest.mark.parametrize("temporality", [None, DELTA])
def test_both_temporalities_give_the_recorded_increase(store, sender, worker, temporality):
    sdk = sender(temporality)
    counter = sdk.meter.create_counter("vllm_generation_tokens_total")
    for tokens in (3, 4, 5):
        counter.add(tokens)
        sdk.export()
    rows = store.rows(
        "SELECT value, time_ns FROM pool_signals(from_ns = {a:Int64}, to_ns = {b:Int64}, wanted = []) "
        "WHERE worker = {w:String} ORDER BY time_ns",
        {"a": 1_700_000_000 * 10**9, "b": 4_000_000_000 * 10**9, "w": worker},
    )
    assert [row["value"] for row in rows] == [3, 4, 5]


def test_an_sdk_that_merges_buckets_when_they_grow_wide_keeps_exact_counts(store, sender, worker):
    sdk = sender(
        views=[View(instrument_name="*", aggregation=ExponentialBucketHistogramAggregation(max_size=8))]
    )
    recorded = sdk.meter.create_histogram("grows")
    for values in ([1.0, 1.1], [1.5, 300.0], [0.001, 2.0, 2.5]):
        for value in values:
            recorded.record(value)
        sdk.export()
    rows = store.rows(
        "SELECT count, sum, bounds, buckets "
        "FROM signal_histograms(from_ns = {a:Int64}, to_ns = {b:Int64}, wanted = ['grows']) "
        "WHERE worker = {w:String} ORDER BY time_ns",
        {"a": 1_700_000_000 * 10**9, "b": 4_000_000_000 * 10**9, "w": worker},
    )
    assert [row["count"] for row in rows] == [2, 2, 3]
    assert [row["sum"] for row in rows] == pytest.approx([2.1, 301.5, 4.501])
    for row, values in zip(rows, ([1.0, 1.1], [1.5, 300.0], [0.001, 2.0, 2.5]), strict=True):
        assert _upto(row) == [bisect.bisect_right(sorted(values), bound) for bound in row["bounds"]]
        assert row["buckets"][-1] == 0


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30), st.integers(2, 160))
def test_exponential_buckets_are_exact(store, values, size):
    worker = f"exp-{next(_EXAMPLES)}"
    sdk = Sender(
        store,
        worker,
        views=[View(instrument_name="*", aggregation=ExponentialBucketHistogramAggregation(max_size=size))],
    )
    try:
        recorded = sdk.meter.create_histogram("exact")
        for value in values:
            recorded.record(value)
        sdk.export()
    finally:
        sdk.close()
    (row,) = store.rows("SELECT bounds, buckets FROM signals FINAL WHERE worker = {w:String}", {"w": worker})
    assert sum(row["buckets"]) == len(values)
    assert row["bounds"] == sorted(set(row["bounds"]))
    for bound, upto in zip(row["bounds"], _upto(row), strict=True):
        # a value within rounding of a bound may be on either side of it
        low = sum(value <= bound * (1 - 1e-12) for value in values)
        high = sum(value <= bound * (1 + 1e-12) for value in values)
        assert low <= upto <= high


def test_new_bounds_in_a_new_process_do_not_mix_with_the_old(store, worker, points):
    for bounds in ([1, 10], [1, 5, 10, 50]):
        views = [View(instrument_name="*", aggregation=ExplicitBucketHistogramAggregation(bounds))]
        sdk = Sender(store, worker, views=views)
        recorded = sdk.meter.create_histogram("rebounded")
        recorded.record(3)
        sdk.export()
        sdk.close()
    rows = points(worker)
    assert [row["bounds"] for row in rows] == [[1, 10], [1, 5, 10, 50]]
    assert len({row["series"] for row in rows}) == 1


def _upto(row):
    return [sum(row["buckets"][: index + 1]) for index in range(len(row["bounds"]))]
