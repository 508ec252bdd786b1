"""ASGI middleware: records `pd.request` for any streaming OpenAI-compatible app, whatever its framework.

    app.add_middleware(RequestMiddleware, tracer=tracer)          # Starlette, FastAPI
    app = RequestMiddleware(app, tracer=tracer)                   # any ASGI app

Inside the app, `current_request()` gives the `RequestTrace`, to time phases and to pass headers on.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextvars import ContextVar
from typing import Any

from collector import conventions as names
from collector.instrument.answer import Ending
from collector.instrument.in_flight import InFlight
from collector.instrument.phase_tracer import PhaseTracer
from collector.instrument.request_trace import RequestTrace

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

RECORDED_PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/responses")
STALL_NS = 1_000_000

_current: ContextVar[RequestTrace | None] = ContextVar("pdscope_request", default=None)


def current_request() -> RequestTrace | None:
    """The request that the running code serves, or None outside of one."""
    return _current.get()


class RequestMiddleware:
    """Wraps an ASGI app; only POSTs to `paths` are recorded. Never changes or delays what is sent."""

    def __init__(
        self,
        app: App,
        tracer: PhaseTracer,
        paths: Iterable[str] = RECORDED_PATHS,
        in_flight: InFlight | None = None,
    ) -> None:
        self.app = app
        self.tracer = tracer
        self.paths = frozenset(paths)
        self.in_flight = in_flight if in_flight is not None else InFlight()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection as ASGI defines."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in self.paths:
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        running = self.in_flight.enter()
        with self.tracer.request(headers, attributes={names.ROUTE: scope["path"]}) as request:
            token = _current.set(request)
            try:
                await self.app(scope, _watched(request, receive), _recorded(request, send))
            finally:
                _current.reset(token)
                self.in_flight.leave(running)


def _watched(request: RequestTrace, receive: Receive) -> Receive:
    async def watched() -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            request.ending = Ending.CLIENT_LEFT
        return message

    return watched


def _recorded(request: RequestTrace, send: Send) -> Send:
    async def recorded(message: Message) -> None:
        before = request.clock.now()
        try:
            await send(message)
        except OSError:
            request.ending = Ending.CLIENT_LEFT
            raise
        after = request.clock.now()
        if message["type"] == "http.response.start":
            request.response_started(message["status"], _content_type(message))
        elif message["type"] == "http.response.body":
            request.sent(message.get("body", b""), after)
            if after - before > STALL_NS:
                request.stalled(after - before)
            if not message.get("more_body", False) and request.ending is Ending.COMPLETE:
                request.end()

    return recorded


def _content_type(message: Message) -> str:
    for name, value in message.get("headers", ()):
        if name.lower() == b"content-type":
            return str(value.decode("latin-1"))
    return ""
