"""What the receiver counts about itself, as Prometheus metrics."""

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ReceiveMetrics:
    """Counters, gauges and histograms of receiving, registered in the given registry.

    `transport` is grpc, http, http_json, scrape for what pdscope asked for, self for its own spans, or
    journal for what the store could not read after it was acknowledged.
    """

    def __init__(self, registry: CollectorRegistry):
        self.exports = Counter(
            "pdscope_received_exports",
            "Exports received whole and well formed",
            ["transport"],
            registry=registry,
        )
        self.spans = Counter(
            "pdscope_received_spans", "Spans and points in them", ["transport"], registry=registry
        )
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
        self.commit_seconds = Histogram(
            "pdscope_commit_seconds",
            "Time to make one group of exports safe: on disk in the journal, or stored",
            buckets=_SECONDS,
            registry=registry,
        )
        self.insert_seconds = Histogram(
            "pdscope_insert_seconds",
            "Time to store one batch from the journal",
            buckets=_SECONDS,
            registry=registry,
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
        # Looking a label up costs more than counting.
        self.received = cache(
            lambda transport: tuple(
                counter.labels(transport) for counter in (self.exports, self.spans, self.bytes)
            )
        )
        self.dropped_logs = Counter(
            "pdscope_dropped_log_records",
            "Log records that were taken and not kept",
            ["reason"],
            registry=registry,
        )
        self.refused_connections = Counter(
            "pdscope_refused_connections", "OTLP/HTTP connections closed", ["reason"], registry=registry
        )
        self.journal_backlog = Gauge(
            "pdscope_journal_backlog_bytes", "Acknowledged and not yet stored", registry=registry
        )
        self.journal_bytes = Gauge("pdscope_journal_bytes", "Size of the journal on disk", registry=registry)
        self.journal_damages = Gauge(
            "pdscope_journal_damages", "Places of the journal that could not be read back", registry=registry
        )
