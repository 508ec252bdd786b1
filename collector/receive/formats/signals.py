"""Tells an OTLP trace body from one of metrics or logs: on the wire nothing names the signal."""

from itertools import chain

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.errors import BadBody
from collector.receive.check import count_spans

METRICS = "OTLP metrics, not read from files"
LOGS = "OTLP logs, not read from files"
DAMAGED = "not a whole OTLP body"


def trace_spans(body: bytes) -> int:
    """Spans of a serialized ExportTraceServiceRequest. Raises BadBody(METRICS | LOGS | DAMAGED)."""
    try:
        traces = ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        traces = None
    if traces is not None and _looks_like_traces(traces):
        return count_spans(traces)
    if _is_metrics(body):
        raise BadBody(METRICS)
    if _is_logs(body):
        raise BadBody(LOGS)
    if traces is None:
        raise BadBody(DAMAGED)
    return count_spans(traces)


def _looks_like_traces(message: ExportTraceServiceRequest) -> bool:
    scopes = chain.from_iterable(resource.scope_spans for resource in message.resource_spans)
    first = next(chain.from_iterable(scope.spans for scope in scopes), None)
    return first is None or (len(first.trace_id) == 16 and first.start_time_unix_nano > 0)


def _is_metrics(body: bytes) -> bool:
    try:
        message = ExportMetricsServiceRequest.FromString(body)
    except DecodeError:
        return False
    scopes = chain.from_iterable(resource.scope_metrics for resource in message.resource_metrics)
    first = next(chain.from_iterable(scope.metrics for scope in scopes), None)
    return first is not None and first.WhichOneof("data") is not None


def _is_logs(body: bytes) -> bool:
    try:
        message = ExportLogsServiceRequest.FromString(body)
    except DecodeError:
        return False
    scopes = chain.from_iterable(resource.scope_logs for resource in message.resource_logs)
    first = next(chain.from_iterable(scope.log_records for scope in scopes), None)
    return first is not None and (first.time_unix_nano > 0 or first.observed_time_unix_nano > 0)
