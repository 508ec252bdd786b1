"""What clients are told: OTLP partial success, and each error as a gRPC, an HTTP and a google.rpc.Status."""

from collections.abc import Mapping
from dataclasses import dataclass

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.errors import BadBody, CollectorError
from collector.journal.errors import DiskFull, JournalFull
from collector.receive.check import REFUSALS
from collector.receive.commit import Refused
from collector.receive.errors import BodyTooLarge, QueueFull, TooFast, Unauthorized, UnsupportedBody


@dataclass(frozen=True)
class Refusal:
    """One error as clients see it; `retry_after` (seconds) is None when retrying cannot help."""

    reason: str
    grpc_code: grpc.StatusCode
    http_status: int
    message: str
    retry_after: float | None = None

    def status(self) -> Status:
        """As google.rpc.Status, with RetryInfo when the client should come back."""
        status = Status(code=self.grpc_code.value[0], message=self.message)
        if self.retry_after is not None:
            seconds = int(self.retry_after)
            nanos = int((self.retry_after - seconds) * 1e9)
            status.details.add().Pack(RetryInfo(retry_delay=Duration(seconds=seconds, nanos=nanos)))
        return status


_EXHAUSTED: Mapping[type[CollectorError], str] = {
    QueueFull: "queue_full",
    JournalFull: "journal_full",
    TooFast: "too_fast",
}


def refusal(error: CollectorError, retry_after: float) -> Refusal:
    """How an error is answered; `retry_after` (seconds) is told to clients that should come back."""
    code = grpc.StatusCode
    if isinstance(error, BodyTooLarge):
        return Refusal("too_large", code.INVALID_ARGUMENT, 413, str(error))
    if isinstance(error, BadBody):
        return Refusal("malformed", code.INVALID_ARGUMENT, 400, str(error))
    if isinstance(error, UnsupportedBody):
        return Refusal("unsupported", code.INVALID_ARGUMENT, 415, str(error))
    if isinstance(error, Unauthorized):
        return Refusal("unauthorized", code.UNAUTHENTICATED, 401, str(error))
    for kind, reason in _EXHAUSTED.items():
        if isinstance(error, kind):
            return Refusal(reason, code.RESOURCE_EXHAUSTED, 429, str(error), retry_after)
    if isinstance(error, DiskFull):
        return Refusal("disk_full", code.UNAVAILABLE, 503, str(error), retry_after)
    # The store's own words may hold paths: they go to the log, not to whoever sends.
    message = "pdscope could not store this export now and keeps nothing of it; send it again"
    return Refusal("unavailable", code.UNAVAILABLE, 503, message, retry_after)


Acknowledgement = ExportTraceServiceResponse | ExportMetricsServiceResponse | ExportLogsServiceResponse


def traces_kept(refused: Refused) -> ExportTraceServiceResponse:
    """The answer to a kept export, saying which of its spans were kept out, as far as that is known."""
    response = ExportTraceServiceResponse()
    if refused:
        response.partial_success.rejected_spans = sum(refused.values())
        response.partial_success.error_message = "; ".join(
            f"{count} span{'s' if count != 1 else ''} not stored: {REFUSALS[reason]}"
            for reason, count in sorted(refused.items())
        )
    return response


def metrics_kept(refused: Refused) -> ExportMetricsServiceResponse:
    """As `traces_kept`, for points."""
    response = ExportMetricsServiceResponse()
    if refused:
        response.partial_success.rejected_data_points = sum(refused.values())
        response.partial_success.error_message = "; ".join(
            f"{count} point{'s' if count != 1 else ''} not stored: {reason.replace('_', ' ')}"
            for reason, count in sorted(refused.items())
        )
    return response


def logs_kept(_: Refused) -> ExportLogsServiceResponse:
    """Records that pdscope does not understand are dropped on purpose: that is no error of the sender."""
    return ExportLogsServiceResponse()
