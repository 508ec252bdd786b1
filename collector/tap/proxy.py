"""The proxy itself: passes bytes on as they come, and notes when they left."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from collector import conventions as names
from collector.instrument.answer import Ending
from collector.instrument.asgi import STALL_NS
from collector.instrument.in_flight import InFlight, Running
from collector.instrument.phase_tracer import PhaseTracer
from collector.instrument.request_trace import RequestTrace
from collector.tap.headers import REPLACED, end_to_end
from collector.tap.model_name import LARGEST_PARSED, model_of
from collector.tap.settings import TapSettings

UNSENT_BYTES_KEPT = 4096
NOT_FORWARDED = REPLACED | {"expect"}
SKIPPED_AUTO_HEADERS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


@dataclass(eq=False)
class Exchange:
    """One request through the tap; `trace` is None on paths that are only passed on."""

    request: web.BaseRequest
    trace: RequestTrace | None
    model: str = ""
    response: web.StreamResponse | None = None
    writer: AbstractStreamWriter | None = None
    is_stream: bool = False
    headers: dict[str, str] = field(default_factory=dict)

    def ended(self, ending: Ending) -> None:
        """Say how the exchange stopped, if it is recorded."""
        if self.trace is not None:
            self.trace.ending = ending

    @property
    def client_left(self) -> bool:
        """Whether the client's connection is gone."""
        return self.request.transport is None or self.request.transport.is_closing()


class Proxy:
    """Answers with the upstream's answer; `on_end` is told model and outcome of each recorded request."""

    def __init__(
        self,
        settings: TapSettings,
        tracer: PhaseTracer,
        in_flight: InFlight,
        on_end: Callable[[str, str], None],
    ) -> None:
        self._settings = settings
        self._tracer = tracer
        self._in_flight = in_flight
        self._on_end = on_end
        self._upstream = URL(settings.upstream, encoded=True)
        self._session: aiohttp.ClientSession | None = None
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._cutting = False

    async def start(self) -> None:
        """Open the pool of upstream connections; call within the running loop."""
        timeout = aiohttp.ClientTimeout(
            total=None,
            sock_connect=self._settings.connect_timeout_s or None,
            sock_read=self._settings.idle_timeout_s or None,
        )
        # Servers close idle connections after 5 s; ours go earlier, so that no request meets one that closes.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=3.0)
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=SKIPPED_AUTO_HEADERS,
        )

    async def drain(self, seconds: float) -> None:
        """Wait for running exchanges; what is cancelled afterwards was cut by us, not left by its client."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)
        self._cutting = True

    async def close(self) -> None:
        """Close the upstream connections."""
        if self._session is not None:
            await self._session.close()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve one request."""
        self._under_way += 1
        self._idle.clear()
        try:
            return await self._serve(request)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if request.method != "POST" or request.path not in self._settings.paths:
            return await self._pass_on(Exchange(request, None))
        running = self._in_flight.enter()
        exchange = Exchange(request, self._open(request))
        try:
            return await self._record(exchange, running)
        finally:
            self._in_flight.leave(running)
            self._close(exchange)

    def _open(self, request: web.BaseRequest) -> RequestTrace:
        trace = self._tracer.request(request.headers, attributes={names.ROUTE: request.path})
        if self._settings.tenant_header:
            trace.set({names.TENANT: request.headers.get(self._settings.tenant_header)})
        return trace

    def _close(self, exchange: Exchange) -> None:
        assert exchange.trace is not None
        result = exchange.trace.end()
        self._on_end(exchange.model or exchange.trace.answer.model or "", result)

    async def _record(self, exchange: Exchange, running: Running) -> web.StreamResponse:
        request, trace = exchange.request, exchange.trace
        assert trace is not None
        body: bytes | None = None
        try:
            if (request.content_length or LARGEST_PARSED + 1) <= LARGEST_PARSED:
                body = await request.read()
                if model := model_of(body):
                    exchange.model = model
                    trace.set({names.MODEL: model})
                    self._in_flight.name(running, model)
            return await self._pass_on(exchange, body)
        except asyncio.CancelledError:
            exchange.ended(Ending.UPSTREAM_LOST if self._cutting else Ending.CLIENT_LEFT)
            raise
        except ConnectionError:
            return self._left(exchange)

    async def _pass_on(self, exchange: Exchange, body: bytes | None = None) -> web.StreamResponse:
        try:
            return await self._forward(exchange, body)
        except TimeoutError as error:
            exchange.ended(Ending.TIMEOUT)
            return await self._fail(exchange, 504, "upstream_timeout", error)
        except aiohttp.ClientError as error:
            if exchange.client_left:
                return self._left(exchange)
            exchange.ended(Ending.UPSTREAM_LOST)
            return await self._fail(exchange, 502, "upstream_lost", error)

    async def _forward(self, exchange: Exchange, body: bytes | None) -> web.StreamResponse:
        assert self._session is not None
        request = exchange.request
        upload = body if body is not None else request.content if request.body_exists else None
        async with self._session.request(
            request.method,
            self._target(request),
            headers=self._request_headers(exchange),
            data=upload,
            allow_redirects=False,
        ) as upstream:
            try:
                return await self._relay(exchange, upstream)
            except BaseException:
                upstream.close()
                raise

    def _target(self, request: web.BaseRequest) -> URL:
        return URL(str(self._upstream) + request.rel_url.raw_path_qs, encoded=True)

    def _request_headers(self, exchange: Exchange) -> "aiohttp.typedefs.LooseHeaders":
        if exchange.trace is None:
            return end_to_end(exchange.request.headers, {"host", "expect"})
        headers = end_to_end(exchange.request.headers, NOT_FORWARDED)
        headers.update(exchange.trace.outgoing_headers())
        # Compressed answers could not be read as they pass.
        headers["Accept-Encoding"] = "identity"
        return headers

    async def _relay(self, exchange: Exchange, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(status=upstream.status, reason=upstream.reason)
        response.headers.extend(end_to_end(upstream.headers))
        content_type = upstream.headers.get("Content-Type", "")
        exchange.response, exchange.is_stream = response, content_type.startswith("text/event-stream")
        if exchange.trace is not None:
            exchange.trace.response_started(upstream.status, content_type)
            _feel_the_reader(exchange.request)
        writer = await response.prepare(exchange.request)
        assert writer is not None
        exchange.writer = writer
        async for data in upstream.content.iter_any():
            if exchange.trace is None:
                await writer.write(data)
            else:
                await _send(exchange.trace, exchange.request, writer, data)
        await response.write_eof()
        return response

    def _left(self, exchange: Exchange) -> web.StreamResponse:
        exchange.ended(Ending.CLIENT_LEFT)
        return exchange.response or web.Response(status=499)

    async def _fail(self, exchange: Exchange, status: int, kind: str, error: Exception) -> web.StreamResponse:
        """Tell the client at once: an error answer, or within a stream an error event and a broken end."""
        if exchange.trace is not None:
            exchange.trace.set({names.ERROR_TYPE: type(error).__qualname__})
        message = f"pdscope tap: the upstream did not answer in full ({type(error).__name__})"
        text = json.dumps({"error": {"message": message, "type": kind, "code": status}})
        if exchange.response is None or exchange.writer is None:
            if exchange.trace is not None:
                exchange.trace.answered(status)
            return web.Response(status=status, text=text, content_type="application/json")
        if exchange.is_stream:
            await exchange.writer.write(f"\n\ndata: {text}\n\n".encode())
        if exchange.request.transport is not None:
            exchange.request.transport.close()
        return exchange.response


async def _send(
    trace: RequestTrace, request: web.BaseRequest, writer: AbstractStreamWriter, data: bytes
) -> None:
    """Send `data` and record when it left; time for which the reader does not take it counts as stalled."""
    before = trace.clock.now()
    await writer.write(data)
    if request.transport is not None and request.transport.get_write_buffer_size():
        await writer.drain()
    left = trace.clock.now()
    if left - before > STALL_NS:
        trace.stalled(left - before)
    trace.sent(data, left)


def _feel_the_reader(request: web.BaseRequest) -> None:
    """Keep little unsent data in this process and in the kernel, so that a reader that stops is felt soon."""
    if request.transport is None:
        return
    request.transport.set_write_buffer_limits(high=0)
    connection = request.transport.get_extra_info("socket")
    if (
        connection is not None
        and connection.family != socket.AF_UNIX
        and hasattr(socket, "TCP_NOTSENT_LOWAT")
    ):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES_KEPT)
