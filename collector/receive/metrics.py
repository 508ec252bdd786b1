"""What the receiver counts about itself, as Prometheus metrics."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ReceiveMetrics:
    """Counters, gauges and histograms of receiving, registered in the given registry.

    `transport` is grpc, http, http_json, or self for pdscope's own spans.
    """

    def __init__(self, registry: CollectorRegistry):
        self.exports = Counter(
            "pdscope_received_exports",
            "Exports received whole and well formed",
            ["transport"],
            registry=registry,
        )
        self.spans = Counter("pdscope_received_spans", "Spans in them", ["transport"], registry=registry)
        self.bytes = Counter(
            "pdscope_received_bytes", "Their size as protobuf, decompressed", ["transport"], registry=registry
        )
        self.refused_exports = Counter(
            "pdscope_refused_exports",
            "Exports answered with an error: nothing of them is acknowledged",
            ["transport", "reason"],
            registry=registry,
        )
        self.refused_spans = Counter(
            "pdscope_refused_spans",
            "Spans kept out of exports that were stored otherwise",
            ["reason"],
            registry=registry,
        )
        self.ack_seconds = Histogram(
            "pdscope_ack_seconds",
            "From an export's last byte to its acknowledgement",
            ["transport"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.insert_seconds = Histogram(
            "pdscope_insert_seconds", "Time to store one batch", buckets=_SECONDS, registry=registry
        )
        self.batch_exports = Histogram(
            "pdscope_batch_exports",
            "Exports in one batch",
            buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
            registry=registry,
        )
        self.batch_spans = Histogram(
            "pdscope_batch_spans",
            "Spans in one batch",
            buckets=(10, 100, 1_000, 5_000, 10_000, 50_000, 100_000),
            registry=registry,
        )
        self.queue_exports = Gauge("pdscope_queue_exports", "Exports waiting to be stored", registry=registry)
        self.queue_bytes = Gauge("pdscope_queue_bytes", "Their size", registry=registry)
