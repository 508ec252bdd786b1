"""Metric exports built with the protobuf classes, in few words."""

from collections.abc import Iterable

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1 import metrics_pb2 as m

T0 = 1_780_000_000
"""Unix seconds at which the tests' metrics start."""
DELTA, CUMULATIVE = 1, 2


def ns(seconds: float) -> int:
    """Unix nanoseconds of `seconds` after T0."""
    return int((T0 + seconds) * 1_000_000_000)


def attributes(values: dict[str, object]) -> list[KeyValue]:
    def any_value(value: object) -> AnyValue:
        if isinstance(value, bool):
            return AnyValue(bool_value=value)
        if isinstance(value, int):
            return AnyValue(int_value=value)
        if isinstance(value, float):
            return AnyValue(double_value=value)
        return AnyValue(string_value=str(value))

    return [KeyValue(key=key, value=any_value(value)) for key, value in values.items()]


def body(worker: str, *metrics: m.Metric, service: str = "engine", **resource: str) -> bytes:
    """One export of one process."""
    export = ExportMetricsServiceRequest()
    sent = export.resource_metrics.add()
    named = {
        "service.name": service,
        "service.instance.id": worker,
        **{k.replace("_", "."): v for k, v in resource.items()},
    }
    sent.resource.attributes.extend(attributes(named))
    sent.scope_metrics.add().metrics.extend(metrics)
    return export.SerializeToString()


def number(at: float, value: float, start: float | None = None, **labels: object) -> m.NumberDataPoint:
    point = m.NumberDataPoint(time_unix_nano=ns(at), attributes=attributes(labels))
    if start is not None:
        point.start_time_unix_nano = ns(start)
    if isinstance(value, int):
        point.as_int = value
    else:
        point.as_double = value
    return point


def gauge(name: str, *points: m.NumberDataPoint, unit: str = "") -> m.Metric:
    return m.Metric(name=name, unit=unit, gauge=m.Gauge(data_points=points))


def counter(
    name: str, *points: m.NumberDataPoint, temporality: int = CUMULATIVE, monotonic: bool = True
) -> m.Metric:
    data = m.Sum(data_points=points, aggregation_temporality=temporality, is_monotonic=monotonic)
    return m.Metric(name=name, sum=data)


def buckets(
    at: float,
    bounds: Iterable[float],
    counts: Iterable[int],
    total: float | None = None,
    start: float | None = None,
    **labels: object,
) -> m.HistogramDataPoint:
    counts = list(counts)
    point = m.HistogramDataPoint(
        time_unix_nano=ns(at),
        count=sum(counts),
        bucket_counts=counts,
        explicit_bounds=list(bounds),
        attributes=attributes(labels),
    )
    if total is not None:
        point.sum = total
    if start is not None:
        point.start_time_unix_nano = ns(start)
    return point


def histogram(name: str, *points: m.HistogramDataPoint, temporality: int = CUMULATIVE) -> m.Metric:
    data = m.Histogram(data_points=points, aggregation_temporality=temporality)
    return m.Metric(name=name, unit="s", histogram=data)


def exponential(
    name: str, *points: m.ExponentialHistogramDataPoint, temporality: int = CUMULATIVE
) -> m.Metric:
    data = m.ExponentialHistogram(data_points=points, aggregation_temporality=temporality)
    return m.Metric(name=name, exponential_histogram=data)
