import gc

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1 import metrics_pb2 as m

from collector.errors import BadBody
from collector.store import Store
from tests.signals.otlp import (
    CUMULATIVE,
    DELTA,
    attributes,
    body,
    buckets,
    counter,
    exponential,
    gauge,
    histogram,
    ns,
    number,
)


def test_a_gauge_keeps_its_name_value_time_and_labels(store, worker, points):
    sent = gauge("vllm:num_requests_running", number(1, 3.5, model_name="llama", engine=0), unit="{request}")
    result = store.insert_metrics([body(worker, sent, pd_pool="prefill")])
    (row,) = points(worker)
    assert (result.points, result.spans, dict(result.refused)) == (1, 0, {})
    assert (row["metric"], row["value"], row["time_ns"]) == ("vllm:num_requests_running", 3.5, ns(1))
    assert (row["kind"], row["temporality"], row["unit"]) == ("gauge", 0, "{request}")
    assert (row["pool"], row["model"]) == ("prefill", "llama")
    assert row["labels"] == {"engine": "0", "model_name": "llama"}


def test_whole_numbers_and_negative_ones_are_values(store, worker, points):
    store.insert_metrics([body(worker, gauge("g", number(1, -7), number(2, 0)))])
    assert [row["value"] for row in points(worker)] == [-7, 0]


@pytest.mark.parametrize(
    ("temporality", "monotonic"), [(DELTA, True), (CUMULATIVE, True), (CUMULATIVE, False)]
)
def test_a_sum_says_how_it_accumulates(store, worker, points, temporality, monotonic):
    store.insert_metrics(
        [body(worker, counter("c", number(5, 2, start=1), temporality=temporality, monotonic=monotonic))]
    )
    (row,) = points(worker)
    assert (row["kind"], row["temporality"], bool(row["monotonic"])) == ("sum", temporality, monotonic)
    assert (row["start_ns"], row["value"]) == (ns(1), 2)


def test_a_histogram_keeps_count_sum_bounds_and_buckets(store, worker, points):
    store.insert_metrics([body(worker, histogram("h", buckets(1, [0.1, 1], [1, 2, 3], total=9.5)))])
    (row,) = points(worker)
    assert (row["count"], row["sum"], row["bounds"], row["buckets"]) == (6, 9.5, [0.1, 1], [1, 2, 3])


def test_a_histogram_without_sum_or_with_one_that_is_no_number_has_none(store, worker, points):
    store.insert_metrics(
        [body(worker, histogram("h", buckets(1, [1], [1, 0]), buckets(2, [1], [1, 0], total=float("nan"))))]
    )
    assert [row["sum"] for row in points(worker)] == [None, None]


def test_a_summary_keeps_its_quantiles(store, worker, points):
    quantiles = [m.SummaryDataPoint.ValueAtQuantile(quantile=0.5, value=2.0)]
    point = m.SummaryDataPoint(time_unix_nano=ns(1), count=4, sum=10, quantile_values=quantiles)
    store.insert_metrics([body(worker, m.Metric(name="s", summary=m.Summary(data_points=[point])))])
    (row,) = points(worker)
    assert (row["count"], row["sum"], row["quantiles"]) == (4, 10.0, [{"quantile": 0.5, "value": 2.0}])


def _exponential(**fields) -> m.ExponentialHistogramDataPoint:
    return m.ExponentialHistogramDataPoint(time_unix_nano=ns(1), **fields)


def _side(offset: int, *counts: int) -> m.ExponentialHistogramDataPoint.Buckets:
    return m.ExponentialHistogramDataPoint.Buckets(offset=offset, bucket_counts=counts)


@pytest.mark.parametrize(
    ("fields", "bounds", "counts"),
    [
        (
            {"scale": 0, "zero_count": 1, "count": 4, "positive": _side(1, 1, 2)},
            [0, 2, 4, 8],
            [1, 0, 1, 2, 0],
        ),
        ({"scale": 1, "count": 2, "positive": _side(-2, 2)}, [0, 0.5, 2**-0.5], [0, 0, 2, 0]),
        ({"scale": -1, "count": 1, "positive": _side(0, 1)}, [0, 1, 4], [0, 0, 1, 0]),
        ({"scale": 0, "count": 3, "zero_count": 3}, [0], [3, 0]),
        (
            {"scale": 0, "count": 3, "zero_count": 1, "negative": _side(0, 2)},
            [-2, -1, 0],
            [0, 2, 1, 0],
        ),
        (
            {
                "scale": 0,
                "count": 6,
                "zero_count": 1,
                "zero_threshold": 0.5,
                "negative": _side(0, 2, 0),
                "positive": _side(0, 3),
            },
            [-4, -2, -1, -0.5, 0.5, 1, 2],
            [0, 0, 2, 0, 1, 0, 3, 0],
        ),
    ],
)
def test_an_exponential_histogram_becomes_an_explicit_one(store, worker, points, fields, bounds, counts):
    result = store.insert_metrics([body(worker, exponential("e", _exponential(sum=1.0, **fields)))])
    (row,) = points(worker)
    assert (row["kind"], row["bounds"], row["buckets"]) == ("histogram", bounds, counts)
    assert sum(row["buckets"]) == row["count"]
    assert not result.refused


NO_VALUE = m.DataPointFlags.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK


@pytest.mark.parametrize(
    ("reason", "bad"),
    [
        ("not_finite", gauge("g", number(1, float("nan")))),
        ("not_finite", gauge("g", number(1, float("inf")))),
        ("not_finite", counter("c", number(1, float("-inf")))),
        ("no_value", gauge("g", m.NumberDataPoint(time_unix_nano=ns(1), flags=NO_VALUE))),
        ("no_value", gauge("g", m.NumberDataPoint(time_unix_nano=ns(1), as_double=1.0, flags=NO_VALUE))),
        ("no_value", gauge("g", m.NumberDataPoint(time_unix_nano=ns(1)))),
        ("no_value", histogram("h", m.HistogramDataPoint(time_unix_nano=ns(1), flags=NO_VALUE))),
        ("bad_time", gauge("g", m.NumberDataPoint(time_unix_nano=0, as_int=1))),
        ("bad_time", gauge("g", m.NumberDataPoint(time_unix_nano=86_400 * 10**9, as_int=1))),
        ("bad_time", gauge("g", m.NumberDataPoint(time_unix_nano=4_102_444_800 * 10**9, as_int=1))),
        ("no_temporality", counter("c", number(1, 1), temporality=0)),
        ("no_temporality", histogram("h", buckets(1, [1], [1, 1]), temporality=0)),
        ("bad_buckets", histogram("h", buckets(1, [1, 2], [1, 1]))),
        ("bad_buckets", histogram("h", buckets(1, [2, 1], [1, 1, 1]))),
        ("bad_buckets", histogram("h", buckets(1, [1, float("inf")], [1, 1, 1]))),
        ("bad_buckets", exponential("e", _exponential(scale=-10, count=1, positive=_side(1, 1)))),
        ("no_name", gauge("", number(1, 1))),
    ],
)
def test_a_bad_point_is_kept_out_and_counted_while_its_neighbours_stay(store, worker, points, reason, bad):
    result = store.insert_metrics([body(worker, bad, gauge("good", number(1, 1)))])
    assert [row["metric"] for row in points(worker)] == ["good"]
    assert (result.points, dict(result.refused)) == (2, {reason: 1})


def test_a_start_after_the_point_is_taken_as_unknown(store, worker, points):
    store.insert_metrics([body(worker, counter("c", number(1, 1, start=9)))])
    assert points(worker)[0]["start_ns"] == 0


def test_a_repeated_export_counts_once(store, worker, points):
    export = body(worker, gauge("g", number(1, 1)), histogram("h", buckets(1, [1], [1, 0])))
    store.insert_metrics([export, export])
    store.insert_metrics([export])
    assert len(points(worker)) == 2


def test_the_order_of_labels_does_not_make_another_series(store, worker, points):
    one, other = number(1, 1, a="x", b="y"), number(2, 2, b="y", a="x")
    store.insert_metrics([body(worker, gauge("g", one, other))])
    assert len({row["series"] for row in points(worker)}) == 1


def test_private_labels_and_exemplars_never_reach_the_store(store, worker, points):
    secret = "what the user asked"
    store.command("INSERT INTO private_attributes VALUES ('gen_ai.prompt')")
    point = number(1, 1, model_name="m")
    point.attributes.extend(attributes({"gen_ai.prompt": secret}))
    point.exemplars.add(as_double=1, filtered_attributes=attributes({"prompt": secret}), trace_id=b"\1" * 16)
    export = body(worker, counter("c", point), gauge("g", point))
    result = store.insert_metrics([export])
    assert secret not in str(points(worker))
    assert [row["labels"] for row in points(worker)] == [{"model_name": "m"}] * 2
    log = store.rows(
        "SELECT private_labels FROM metric_ingest_log WHERE ingest_sequence = {s:UInt64}",
        {"s": result.sequence},
    )
    assert log[0]["private_labels"] == 2


def test_labels_are_capped_in_number_and_length(store, worker, points):
    labels = {f"l{i:03}": "x" * 2000 for i in range(70)}
    store.insert_metrics([body(worker, gauge("g", number(1, 1, **labels)))])
    (row,) = points(worker)
    assert len(row["labels"]) == 64
    assert {len(value) for value in row["labels"].values()} == {1024}


def test_a_sender_without_an_instance_is_known_by_its_service(store, points):
    store.insert_metrics([body("", gauge("g", number(1, 1)), service="only-a-service")])
    assert len(points("only-a-service")) == 1


def test_senders_of_metrics_are_resources_under_the_same_id_as_with_spans(store, worker, points):
    metrics = body(worker, gauge("g", number(1, 1)), pd_pool="decode")
    resource = ExportMetricsServiceRequest.FromString(metrics).resource_metrics[0].resource
    traces = ExportTraceServiceRequest()
    sent = traces.resource_spans.add(resource=resource)
    sent.scope_spans.add().spans.add(
        trace_id=b"\7" * 16, span_id=b"\7" * 8, start_time_unix_nano=ns(1), end_time_unix_nano=ns(2)
    )
    store.insert_metrics([metrics])
    store.insert_traces([traces.SerializeToString()])
    rows = store.rows("SELECT * FROM resources FINAL WHERE instance = {w:String}", {"w": worker})
    assert [(row["resource_id"], row["pool"]) for row in rows] == [
        (points(worker)[0]["resource_id"], "decode")
    ]


def test_a_body_that_is_no_export_is_refused_whole(store, worker, points):
    with pytest.raises(BadBody, match="metrics"):
        store.insert_metrics([body(worker, gauge("g", number(1, 1))), b"\xff\xff\xff"])
    assert points(worker) == []


def test_an_export_without_points_is_accepted(store, worker):
    result = store.insert_metrics([body(worker), ExportMetricsServiceRequest().SerializeToString()])
    assert (result.points, dict(result.refused)) == (0, {})


def test_traces_and_metrics_share_one_rising_sequence_that_outlives_a_restart(store):
    span_free = ExportTraceServiceRequest().SerializeToString()
    first = store.insert_metrics([body("seq", gauge("g", number(1, 1)))]).sequence
    second = store.insert_traces([span_free]).sequence
    third = store.insert_metrics([body("seq", gauge("g", number(2, 1)))]).sequence
    assert (second, third) == (first + 1, first + 2)
    assert store.last_sequence == third
    logged = store.query("SELECT max(ingest_sequence) FROM ingest_log")[0][0]
    assert logged < third, "the newest insert must be one of metrics for this test to mean anything"
    path = store.path
    store.close()
    gc.collect()
    again = Store.open(path)
    try:
        assert again.last_sequence == third
    finally:
        again.close()
