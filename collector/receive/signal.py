"""The three OTLP signals: their gRPC service, HTTP path and message."""

from enum import Enum

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

Message = ExportTraceServiceRequest | ExportMetricsServiceRequest | ExportLogsServiceRequest


class Signal(Enum):
    """What an export holds, by the word in its HTTP path."""

    TRACES = "traces"
    METRICS = "metrics"
    LOGS = "logs"

    @property
    def path(self) -> str:
        """Where OTLP/HTTP takes it."""
        return f"/v1/{self.value}"

    @property
    def service(self) -> str:
        """The gRPC service whose Export takes it."""
        name = {"traces": "trace", "metrics": "metrics", "logs": "logs"}[self.value]
        return f"opentelemetry.proto.collector.{name}.v1.{name.capitalize()}Service"

    @property
    def message(self) -> type[Message]:
        """Its request."""
        return {
            Signal.TRACES: ExportTraceServiceRequest,
            Signal.METRICS: ExportMetricsServiceRequest,
            Signal.LOGS: ExportLogsServiceRequest,
        }[self]


BY_PATH = {signal.path: signal for signal in Signal}
