"""Stock OpenTelemetry SDK exporters as clients, against the real embedded store."""

from collections.abc import Callable

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression as HttpCompression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, Status, StatusCode
from prometheus_client import CollectorRegistry

from collector.receive import OtlpReceiver
from collector.store import Store
from tests.receive.bodies import unique_name

Make = Callable[[OtlpReceiver], SpanExporter]


def _grpc(receiver: OtlpReceiver) -> SpanExporter:
    return GrpcExporter(endpoint=f"127.0.0.1:{receiver.grpc_port}", insecure=True)


def _grpc_gzip(receiver: OtlpReceiver) -> SpanExporter:

    return GrpcExporter(
        endpoint=f"127.0.0.1:{receiver.grpc_port}", insecure=True, compression=grpc.Compression.Gzip
    )


def _http(receiver: OtlpReceiver) -> SpanExporter:
    return HttpExporter(endpoint=f"http://127.0.0.1:{receiver.http_port}/v1/traces")


def _http_gzip(receiver: OtlpReceiver) -> SpanExporter:
    return HttpExporter(
        endpoint=f"http://127.0.0.1:{receiver.http_port}/v1/traces", compression=HttpCompression.Gzip
    )


class _Remembers(SpanExporter):
    """Passes spans on and keeps what the real exporter said."""

    def __init__(self, exporter: SpanExporter):
        self._exporter = exporter
        self.results: list[SpanExportResult] = []

    def export(self, spans):  # type: ignore[no-untyped-def]
        self.results.append(self._exporter.export(spans))
        return self.results[-1]

    def shutdown(self) -> None:
        self._exporter.shutdown()


@pytest.mark.parametrize("make", [_grpc, _grpc_gzip, _http, _http_gzip])
def test_a_span_of_a_stock_exporter_is_stored_whole(make: Make, receiver: OtlpReceiver, store: Store) -> None:
    name = unique_name()
    exporter = _Remembers(make(receiver))
    provider = TracerProvider(
        resource=Resource({"service.name": "router", "service.instance.id": "router-7"}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("tests")

    with tracer.start_as_current_span(name, kind=SpanKind.SERVER, attributes={"n": 7, "t": "x"}) as span:
        span.add_event("first_token", {"tokens": 1}, timestamp=1_790_000_000_000_000_000)
        span.set_status(Status(StatusCode.ERROR, "gone"))
        context = span.get_span_context()
    provider.shutdown()

    assert exporter.results == [SpanExportResult.SUCCESS]
    (row,) = store.rows(
        "SELECT *, service, instance FROM spans JOIN resources FINAL USING resource_id "
        "WHERE name = {name:String}",
        {"name": name},
    )
    assert row["trace_id"] == context.trace_id.to_bytes(16, "big")
    assert row["span_id"] == context.span_id.to_bytes(8, "big")
    assert (row["service"], row["instance"], row["scope"]) == ("router", "router-7", "tests")
    assert (row["kind"], row["status"], row["status_message"]) == (2, 2, "gone")
    assert row["attrs"] == {"n": "7", "t": "x"}
    (event,) = row["events"]
    assert tuple(event.values() if isinstance(event, dict) else event) == (
        1_790_000_000_000_000_000,
        "first_token",
        {"tokens": "1"},
    )


def test_what_was_received_is_counted_by_transport(
    receiver: OtlpReceiver, registry: CollectorRegistry
) -> None:
    def spans(transport: str) -> float:
        return registry.get_sample_value("pdscope_received_spans_total", {"transport": transport}) or 0

    before = {transport: spans(transport) for transport in ("grpc", "http")}
    for make in (_grpc, _http):
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(make(receiver)))
        provider.get_tracer("tests").start_span(unique_name()).end()
        provider.shutdown()

    assert {transport: spans(transport) - count for transport, count in before.items()} == {
        "grpc": 1,
        "http": 1,
    }
    assert (registry.get_sample_value("pdscope_commit_seconds_count") or 0) >= 2
    assert registry.get_sample_value("pdscope_queue_exports") == 0
