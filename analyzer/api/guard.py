"""ASGI middleware in front of every route: who may ask what, how often, and how much they may send."""

from collections.abc import Callable, Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from analyzer.api.audit import AuditLog
from analyzer.api.errors import ApiError, TooLarge, error_response
from analyzer.api.readers import Reader, Readers
from collector.rates import SourceRates
from collector.tokens import Tokens

IMPORT_PATH = "/api/v1/import"
_OPEN_PATHS = ("/healthz", "/readyz")


class TooOften(ApiError):
    """The caller asks more often than it may."""

    def __init__(self, calls_per_s: int | None):
        message = f"more than {calls_per_s} calls a second (api_calls_per_s); ask again later"
        super().__init__(429, "too_many_requests", message)


class Guard:
    """Refuses calls that the caller's token does not allow, that come too often, and bodies over their
    limit, declared or sent. What changes the store, and who is turned away, goes to the audit log.

    Open to all: liveness and readiness, and what `is_static` says holds no data (the page's own files).
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens,
        body_max_bytes: int,
        import_max_bytes: int,
        calls_per_s: int | None = None,
        audit: AuditLog | None = None,
        is_static: Callable[[str], bool] = lambda path: path == "/" or path.startswith("/assets/"),
    ):
        self._app = app
        self._readers = Readers(tokens)
        self._body_max_bytes = body_max_bytes
        self._import_max_bytes = import_max_bytes
        self._calls_per_s = calls_per_s
        self._rates = SourceRates(calls_per_s)
        self._audit = audit
        self._is_static = is_static

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, 403, 413 or 429, or pass the call on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        limit = self._import_max_bytes if path == IMPORT_PATH else self._body_max_bytes
        if path in _OPEN_PATHS or self._is_static(path):
            await self._app(scope, _counting(receive, limit), send)
            return
        headers = dict(scope["headers"])
        source = str((scope.get("client") or ("local",))[0])
        caller = "-"
        try:
            reader = self._readers.reader(headers.get(b"authorization", b""), source)
            caller = reader.name
            self._admit(reader, scope, headers, limit)
        except ApiError as refusal:
            self._note(caller, source, scope, refusal.status_code)
            answer = error_response(
                refusal.status_code,
                refusal.code,
                refusal.detail,
                refusal.field,
                _HEADERS.get(refusal.status_code),
            )
            await answer(scope, receive, send)
            return
        scope.setdefault("state", {})["reader"] = reader
        await self._app(scope, _counting(receive, limit), self._noting(caller, source, scope, send))

    def _admit(self, reader: Reader, scope: Scope, headers: Mapping[bytes, bytes], limit: int) -> None:
        if not self._rates.spend(reader.name, 1):
            raise TooOften(self._calls_per_s)
        reader.check(scope["path"], scope["method"])
        if _declared(headers.get(b"content-length", b"")) > limit:
            raise TooLarge(limit)

    def _noting(self, caller: str, source: str, scope: Scope, send: Send) -> Send:
        """Pass an answer on, noting what became of a call that changes the store, or was forbidden."""

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = int(message["status"])
                if status == 403 or scope["method"] not in ("GET", "HEAD", "OPTIONS"):
                    self._note(caller, source, scope, status)
            await send(message)

        return noted

    def _note(self, caller: str, source: str, scope: Scope, status: int) -> None:
        if self._audit is not None:
            self._audit.record(caller, source, scope["method"], scope["path"], status)


_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}}


def _declared(content_length: bytes) -> int:
    return int(content_length) if content_length.isdigit() else 0


def _counting(receive: Receive, limit: int) -> Receive:
    """Pass messages on until their bodies exceed the limit; then raise TooLarge where the body is read."""
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise TooLarge(limit)
        return message

    return counted
