"""OTLP/gRPC: TraceService.Export as a handler of raw bytes, so that nothing is parsed twice."""

import socket

import grpc
import grpc.aio

from collector.errors import CollectorError, ConfigError
from collector.receive.intake import TraceIntake
from collector.receive.settings import ReceiveSettings, host_and_port

TRACE_SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"
_GRPC = "grpc"


def grpc_server(intake: TraceIntake, settings: ReceiveSettings) -> tuple[grpc.aio.Server, int]:
    """Bind the gRPC listener on the running event loop; returns it, not yet started, and its port.

    Raises ConfigError when the address cannot be bound.
    """
    _refuse_taken(settings.grpc_address)
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", settings.max_body_bytes),
            # Without this a second process could share the port and take half of the exports.
            ("grpc.so_reuseport", 0),
        ],
        maximum_concurrent_rpcs=settings.max_concurrent_exports,
    )
    server.add_generic_rpc_handlers((_trace_service(intake),))
    try:
        port = server.add_insecure_port(settings.grpc_address)
    except RuntimeError as error:
        raise ConfigError(
            f"cannot listen for OTLP/gRPC on {settings.grpc_address}: the address is in use "
            "or not of this machine; stop what holds it, or give --otlp-grpc another HOST:PORT"
        ) from error
    return server, port


def _refuse_taken(address: str) -> None:
    """Ask the system first: gRPC itself tells why an address cannot be had only in a log of its own."""
    host, port = host_and_port(address, "otlp-grpc")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"cannot listen for OTLP/gRPC on {address}: {getattr(error, 'strerror', None) or error}; "
            "stop what holds it, or give --otlp-grpc another HOST:PORT"
        ) from error


def _trace_service(intake: TraceIntake) -> grpc.GenericRpcHandler:
    async def export(body: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        try:
            response = await intake.accept(body, _GRPC)
        except CollectorError as error:
            answer = intake.refuse(error, _GRPC)
            details = (("grpc-status-details-bin", answer.status().SerializeToString()),)
            await context.abort(answer.grpc_code, answer.message, trailing_metadata=details)
        return response.SerializeToString()

    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(export)
    return grpc.method_handlers_generic_handler(TRACE_SERVICE, {"Export": handler})
