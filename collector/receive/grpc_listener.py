"""OTLP/gRPC: each signal's Export as a handler of raw bytes, so that nothing is parsed twice."""

import socket

import grpc
import grpc.aio

from collector.errors import CollectorError, ConfigError
from collector.receive.intake import Intake
from collector.receive.settings import ReceiveSettings, Tls, host_and_port
from collector.receive.signal import Signal

TRACE_SERVICE = Signal.TRACES.service
_GRPC = "grpc"
_IDLE_MS = 600_000
_DEAD_MS = 60_000


def grpc_server(intake: Intake, settings: ReceiveSettings) -> tuple[grpc.aio.Server, int]:
    """Bind the gRPC listener on the running event loop; returns it, not yet started, and its port.

    Raises ConfigError when the address cannot be bound or a TLS file not read.
    """
    _refuse_taken(settings.grpc_address)
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", settings.max_body_bytes),
            # Without this a second process could share the port and take half of the exports.
            ("grpc.so_reuseport", 0),
            ("grpc.max_allowed_incoming_connections", settings.max_connections),
            # What a client may leave half done on one connection, and for how long it may be silent.
            ("grpc.max_concurrent_streams", 256),
            ("grpc.max_connection_idle_ms", _IDLE_MS),
            ("grpc.keepalive_time_ms", _DEAD_MS),
            ("grpc.keepalive_timeout_ms", 20_000),
            ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
            ("grpc.server_handshake_timeout_ms", round(settings.header_timeout * 1000)),
        ],
        maximum_concurrent_rpcs=settings.max_concurrent_exports,
    )
    server.add_generic_rpc_handlers(tuple(_service(intake, signal) for signal in Signal))
    try:
        if settings.tls is None:
            port = server.add_insecure_port(settings.grpc_address)
        else:
            port = server.add_secure_port(settings.grpc_address, _credentials(settings.tls))
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


def _service(intake: Intake, signal: Signal) -> grpc.GenericRpcHandler:
    async def export(body: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        try:
            sender = intake.sender(_authorization(context), _source(context.peer()))
            response = await intake.accept(signal, body, _GRPC, sender)
        except CollectorError as error:
            answer = intake.refuse(error, _GRPC)
            details = (("grpc-status-details-bin", answer.status().SerializeToString()),)
            await context.abort(answer.grpc_code, answer.message, trailing_metadata=details)
        return response.SerializeToString()

    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(export)
    return grpc.method_handlers_generic_handler(signal.service, {"Export": handler})


def _authorization(context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
    for key, value in context.invocation_metadata() or ():
        if key == "authorization":
            return value if isinstance(value, bytes) else value.encode()
    return b""


def _source(peer: str) -> str:
    """The address of a peer without its port: 'ipv4:10.0.0.1:5000' is 10.0.0.1."""
    return peer.partition(":")[2].rpartition(":")[0] or peer


def _credentials(tls: Tls) -> grpc.ServerCredentials:
    try:
        pair = (tls.key.read_bytes(), tls.certificate.read_bytes())
        client_ca = tls.client_ca.read_bytes() if tls.client_ca else None
    except OSError as error:
        raise ConfigError(f"cannot read {error.filename}: {error.strerror}") from error
    return grpc.ssl_server_credentials([pair], client_ca, require_client_auth=client_ca is not None)
