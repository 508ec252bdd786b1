"""ASGI middleware in front of every route: who may ask, and how much they may send."""

import hmac
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from analyzer.api.errors import TooLarge, error_response

IMPORT_PATH = "/api/v1/import"
_OPEN_PATHS = ("/healthz", "/readyz")


class Guard:
    """Refuses calls without the token (when one is set) and bodies over their limit, declared or sent.

    Open to all: liveness and readiness, and what `is_static` says holds no data (the page's own files).
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        body_max_bytes: int,
        import_max_bytes: int,
        is_static: Callable[[str], bool] = lambda path: path == "/" or path.startswith("/assets/"),
    ):
        self._app = app
        self._token = token.encode() if token else None
        self._body_max_bytes = body_max_bytes
        self._import_max_bytes = import_max_bytes
        self._is_static = is_static

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 or 413, or pass the call on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        headers = dict(scope["headers"])
        if not self._may_pass(path, headers.get(b"authorization", b"")):
            challenge = {"WWW-Authenticate": "Bearer"}
            message = "this pdscope needs a token: send `Authorization: Bearer …`"
            await error_response(401, "unauthorized", message, headers=challenge)(scope, receive, send)
            return
        limit = self._import_max_bytes if path == IMPORT_PATH else self._body_max_bytes
        if _declared(headers.get(b"content-length", b"")) > limit:
            refusal = TooLarge(limit)
            await error_response(413, refusal.code, refusal.detail)(scope, receive, send)
            return
        await self._app(scope, _counting(receive, limit), send)

    def _may_pass(self, path: str, authorization: bytes) -> bool:
        if self._token is None or path in _OPEN_PATHS or self._is_static(path):
            return True
        kind, _, given = authorization.partition(b" ")
        # Both compared, so that the time taken does not tell which was wrong.
        return hmac.compare_digest(given.strip(), self._token) & (kind.lower() == b"bearer")


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
