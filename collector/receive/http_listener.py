"""OTLP/HTTP: POST /v1/traces, /v1/metrics, /v1/logs in protobuf or JSON, answered in the same."""

import asyncio
import math
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message

from collector.errors import BadBody, CollectorError, ConfigError
from collector.receive.errors import BodyTooLarge
from collector.receive.http_body import JSON, PROTOBUF, content_type, decompress, to_protobuf
from collector.receive.http_connection import guarded_protocol
from collector.receive.intake import Intake
from collector.receive.metrics import ReceiveMetrics
from collector.receive.settings import ReceiveSettings, host_and_port
from collector.receive.signal import BY_PATH, Signal

_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_IN_PLACE_BYTES = 1 << 20
"""Larger bodies, and JSON, are decoded in a thread so that the event loop keeps answering others."""


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


class OtlpHttpApp:
    """The ASGI application behind the OTLP/HTTP port."""

    def __init__(self, intake: Intake, settings: ReceiveSettings):
        self._intake = intake
        self._settings = settings

    async def __call__(self, scope: MutableMapping[str, Any], receive: _Receive, send: _Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] != "http":
            return
        answer = await self._answer(scope, receive)
        headers = {
            "content-type": answer.content_type,
            "content-length": str(len(answer.body)),
            **answer.headers,
        }
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": encoded})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: MutableMapping[str, Any], receive: _Receive) -> _Answer:
        signal = BY_PATH.get(scope["path"])
        if signal is None:
            takes = ", ".join(BY_PATH)
            return _Answer(404, f"pdscope takes OTLP at POST {takes}\n".encode(), "text/plain")
        if scope["method"] != "POST":
            return _Answer(405, f"{signal.path} takes POST\n".encode(), "text/plain", {"allow": "POST"})
        headers = dict(scope["headers"])
        kind = JSON
        transport = "http"
        try:
            sender = self._intake.sender(headers.get(b"authorization", b""), _source(scope))
            kind = content_type(headers)
            transport = "http_json" if kind == JSON else "http"
            sent = await self._read(headers, receive)
            body = await self._decode(sent, headers, kind, signal)
            return _encoded(200, await self._intake.accept(signal, body, transport, sender), kind)
        except TimeoutError:
            return _Answer(408, b"the body took too long to arrive\n", "text/plain", {"connection": "close"})
        except CollectorError as error:
            refusal = self._intake.refuse(error, transport)
            extra: dict[str, str] = {}
            if refusal.retry_after is not None:
                extra["retry-after"] = str(math.ceil(refusal.retry_after))
            if refusal.http_status == 401:
                # The body was not read: what is left of it must not be taken for the next request.
                extra |= {"www-authenticate": "Bearer", "connection": "close"}
            return _encoded(refusal.http_status, refusal.status(), kind, extra)

    async def _read(self, headers: Mapping[bytes, bytes], receive: _Receive) -> bytes:
        """The body as sent. Raises BodyTooLarge, after taking the rest so that the client hears of it."""
        limit = self._settings.max_body_bytes
        chunks: list[bytes] = []
        size = 0
        async with asyncio.timeout(self._settings.body_timeout):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise BadBody("the client left before its body was complete")
                size += len(message.get("body", b""))
                if size <= limit:
                    chunks.append(message.get("body", b""))
                if not message.get("more_body") or size > 4 * limit:
                    break
        if size > limit:
            raise BodyTooLarge(
                f"the body is more than {limit} bytes, the limit of this pdscope; send smaller batches"
            )
        return b"".join(chunks)

    async def _decode(self, sent: bytes, headers: Mapping[bytes, bytes], kind: str, signal: Signal) -> bytes:
        def decode() -> bytes:
            return to_protobuf(decompress(sent, headers, self._settings.max_body_bytes), kind, signal)

        if kind == PROTOBUF and len(sent) <= _IN_PLACE_BYTES:
            return decode()
        return await asyncio.to_thread(decode)


def http_server(
    intake: Intake, settings: ReceiveSettings, metrics: ReceiveMetrics
) -> tuple[uvicorn.Server, socket.socket]:
    """The OTLP/HTTP server and the socket it is to serve.

    Raises ConfigError when it cannot be bound or a TLS file not read.
    """
    host, port = host_and_port(settings.http_address, "otlp-http")
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"cannot listen for OTLP/HTTP on {settings.http_address}: {error.strerror or error}; "
            "stop what holds it, or give --otlp-http another HOST:PORT"
        ) from error
    config = uvicorn.Config(
        OtlpHttpApp(intake, settings),
        http=guarded_protocol(settings.max_connections, settings.header_timeout, metrics),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    try:
        _use_tls(config, settings)
    except (OSError, ssl.SSLError) as error:
        listening.close()
        raise ConfigError(f"cannot use the TLS files of OTLP/HTTP: {error}") from error
    return uvicorn.Server(config), listening


def _use_tls(config: uvicorn.Config, settings: ReceiveSettings) -> None:
    tls = settings.tls
    if tls is None:
        return
    config.ssl_certfile, config.ssl_keyfile = str(tls.certificate), str(tls.key)
    if tls.client_ca:
        config.ssl_ca_certs, config.ssl_cert_reqs = str(tls.client_ca), ssl.CERT_REQUIRED
    context = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cafile=str(tls.client_ca) if tls.client_ca else None
    )
    context.load_cert_chain(tls.certificate, tls.key)


def _source(scope: MutableMapping[str, Any]) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _encoded(status: int, message: Message, kind: str, headers: Mapping[str, str] | None = None) -> _Answer:
    if kind == JSON:
        return _Answer(status, MessageToJson(message, indent=None).encode(), JSON, headers or {})
    return _Answer(status, message.SerializeToString(), PROTOBUF, headers or {})
