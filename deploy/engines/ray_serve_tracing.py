"""What Ray Serve calls, in every replica and proxy, for the processors its spans go through.

RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=ray_serve_tracing:processors
"""

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def processors() -> list[SpanProcessor]:
    """One batch exporter; address and token come from OTEL_EXPORTER_OTLP_ENDPOINT and …_HEADERS."""
    return [BatchSpanProcessor(OTLPSpanExporter())]
