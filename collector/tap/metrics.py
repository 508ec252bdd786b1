"""What a tap tells of itself: running requests and outcomes, as a Prometheus page and over OTLP."""

from collections import Counter
from collections.abc import Iterator

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from collector.instrument.export import is_plain
from collector.instrument.in_flight import MODELS_KEPT, OTHER_MODEL, InFlight

METRICS_EVERY_MS = 5000


class TapMetrics(Collector):
    """Counts outcomes by model, and reads the running requests when asked."""

    def __init__(self, in_flight: InFlight, pool: str) -> None:
        self._in_flight = in_flight
        self._pool = pool
        self._ended: Counter[tuple[str, str]] = Counter()
        self._models: set[str] = set()
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def ended(self, model: str, outcome: str) -> None:
        """Count a recorded request that is over."""
        if model not in self._models and len(self._models) >= MODELS_KEPT:
            model = OTHER_MODEL
        self._models.add(model)
        self._ended[model, outcome] += 1

    def page(self) -> bytes:
        """The Prometheus text page."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Families as they are now; a model without a running request has no oldest age."""
        labels = ["model", "pool"]
        running = GaugeMetricFamily("pd_requests_in_flight", "Requests under way", labels=labels)
        oldest = GaugeMetricFamily(
            "pd_requests_oldest_age_seconds", "Age of the oldest request under way", labels=labels
        )
        for model, (count, age) in self._in_flight.by_model().items():
            running.add_metric([model, self._pool], count)
            if age is not None:
                oldest.add_metric([model, self._pool], age)
        ended = CounterMetricFamily(
            "pd_tap_requests", "Recorded requests that ended", labels=["model", "outcome"]
        )
        for key, count in sorted(self._ended.items()):
            ended.add_metric(list(key), count)
        yield from (running, oldest, ended)


def meter_provider(in_flight: InFlight, pool: str, resource: Resource, reader: MetricReader) -> MeterProvider:
    """A provider whose reader sees the running requests."""
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    in_flight.export(provider.get_meter("pdscope.tap"), pool)
    return provider


def otlp_reader(endpoint: str) -> PeriodicExportingMetricReader:
    """Sends metrics to an OTLP/gRPC endpoint every 5 s."""
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter

    exporter = OTLPMetricExporter(endpoint=endpoint, insecure=is_plain(endpoint))
    return PeriodicExportingMetricReader(exporter, export_interval_millis=METRICS_EVERY_MS)
