"""Metric points stored per CPU-second: pdscope's insert beside parsing alone and a plain Python loop.

One scrape of a vLLM engine is about 60 gauges and counters and 12 histograms. Prints a table; CPU time is of
the whole process. Run: python -m bench.ingest_metrics [exports]
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from collector.store import Store

_BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0]
_TABLE = (
    "CREATE TABLE plain (metric LowCardinality(String), resource Map(String, String), "
    "labels Map(String, String), time_ns Int64, start_ns Int64, value Float64, count UInt64, sum Float64, "
    "bounds Array(Float64), buckets Array(UInt64)) ENGINE = MergeTree ORDER BY (metric, time_ns)"
)


def export(worker: int, at: int) -> bytes:
    """One engine's metrics at one time."""
    request = ExportMetricsServiceRequest()
    sent = request.resource_metrics.add()
    sent.resource.attributes.extend(
        _attributes({"service.name": "vllm", "service.instance.id": f"w-{worker}"})
    )
    metrics = sent.scope_metrics.add().metrics
    labels = _attributes({"model_name": "llama-70b", "engine": "0"})
    now = (1_780_000_000 + at) * 10**9
    for index in range(30):
        point = metrics.add(name=f"vllm:gauge_{index}").gauge.data_points.add(
            time_unix_nano=now, attributes=labels
        )
        point.as_double = at + index
    for index in range(30):
        total = metrics.add(name=f"vllm:counter_{index}_total").sum
        total.aggregation_temporality, total.is_monotonic = 2, True
        total.data_points.add(time_unix_nano=now, as_double=at * index, attributes=labels)
    for index in range(12):
        distribution = metrics.add(name=f"vllm:time_{index}_seconds").histogram
        distribution.aggregation_temporality = 2
        distribution.data_points.add(
            time_unix_nano=now,
            count=at * 14,
            sum=at * 1.5,
            bucket_counts=[at] * 14,
            explicit_bounds=_BOUNDS,
            attributes=labels,
        )
    return request.SerializeToString()


def parse_only(bodies: Sequence[bytes]) -> None:
    """The floor: protobuf's own parser, nothing stored."""
    for body in bodies:
        ExportMetricsServiceRequest.FromString(body)


def python_loop(store: Store, bodies: Sequence[bytes]) -> None:
    """Rows by a plain loop, inserted in one go."""
    rows: list[list[object]] = []
    for body in bodies:
        for sent in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            resource = {a.key: a.value.string_value for a in sent.resource.attributes}
            for scope in sent.scope_metrics:
                for metric in scope.metrics:
                    kind = metric.WhichOneof("data") or "gauge"
                    for p in getattr(metric, kind).data_points:
                        labels = {a.key: a.value.string_value for a in p.attributes}
                        named = [metric.name, resource, labels, p.time_unix_nano, p.start_time_unix_nano]
                        if kind == "histogram":
                            rows.append(
                                [*named, 0.0, p.count, p.sum, list(p.explicit_bounds), list(p.bucket_counts)]
                            )
                        else:
                            rows.append([*named, p.as_double, 0, 0.0, [], []])
    store.insert(
        "plain",
        rows,
        ["metric", "resource", "labels", "time_ns", "start_ns", "value", "count", "sum", "bounds", "buckets"],
    )


def measure(
    run: Callable[[Sequence[bytes]], object], bodies: Sequence[bytes], batch: int
) -> tuple[float, float]:
    """CPU and wall seconds for all bodies in batches."""
    wall, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(bodies), batch):
        run(bodies[first : first + batch])
    return time.process_time() - cpu, time.perf_counter() - wall


def _attributes(values: dict[str, str]) -> list[KeyValue]:
    return [KeyValue(key=key, value=AnyValue(string_value=value)) for key, value in values.items()]


def main(exports: int = 2000) -> None:
    """Measure and print."""
    bodies = [export(index % 200, index // 200 + 1) for index in range(exports)]
    points = exports * 72
    with tempfile.TemporaryDirectory() as directory:
        store = Store.open(directory)
        store.command(_TABLE)
        ways: list[tuple[str, Callable[[Sequence[bytes]], object], int]] = [
            ("parse only", parse_only, 200),
            ("python loop, 1000 exports per insert", lambda part: python_loop(store, part), 1000),
            ("python loop, 200 exports per insert", lambda part: python_loop(store, part), 200),
            ("pdscope, 1000 exports per insert", store.insert_metrics, 1000),
            ("pdscope, 200 exports per insert", store.insert_metrics, 200),
            ("pdscope, 20 exports per insert", store.insert_metrics, 20),
        ]
        print(f"{points:,} points, {sum(map(len, bodies)) / points:.0f} bytes each on the wire")
        for name, run, batch in ways:
            run([export(999, 1)])
            cpu, wall = measure(run, bodies, batch)
            print(
                f"{name:38} {points / cpu:10,.0f} points per CPU-second   {cpu:6.2f} s CPU {wall:6.2f} s wall"
            )
        store.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
