"""What clients are told: OTLP partial success, and each error as a gRPC, an HTTP and a google.rpc.Status."""

from dataclasses import dataclass

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.errors import BadBody, CollectorError
from collector.receive.check import REFUSALS
from collector.receive.commit import Refused
from collector.receive.errors import BodyTooLarge, QueueFull, UnsupportedBody


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


def refusal(error: CollectorError, retry_after: float) -> Refusal:
    """How an error is answered; `retry_after` (seconds) is told to clients that should come back."""
    code = grpc.StatusCode
    if isinstance(error, BodyTooLarge):
        return Refusal("too_large", code.INVALID_ARGUMENT, 413, str(error))
    if isinstance(error, BadBody):
        return Refusal("malformed", code.INVALID_ARGUMENT, 400, str(error))
    if isinstance(error, UnsupportedBody):
        return Refusal("unsupported", code.INVALID_ARGUMENT, 415, str(error))
    if isinstance(error, QueueFull):
        return Refusal("queue_full", code.RESOURCE_EXHAUSTED, 429, str(error), retry_after)
    # The store's own words may hold paths: they go to the log, not to whoever sends.
    message = "pdscope could not store this export now and keeps nothing of it; send it again"
    return Refusal("unavailable", code.UNAVAILABLE, 503, message, retry_after)


def acknowledgement(refused: Refused) -> ExportTraceServiceResponse:
    """The answer to a stored export, saying in words which of its spans were kept out."""
    response = ExportTraceServiceResponse()
    if refused:
        response.partial_success.rejected_spans = sum(refused.values())
        response.partial_success.error_message = "; ".join(
            f"{count} span{'s' if count != 1 else ''} not stored: {REFUSALS[reason]}"
            for reason, count in sorted(refused.items())
        )
    return response
