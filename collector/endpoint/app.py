"""The ASGI application behind the ClickHouse-compatible port."""

import asyncio
import gzip
import json
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from starlette.types import Receive, Scope, Send

from collector.endpoint.allow import check_format
from collector.endpoint.engine import Engine, Result
from collector.endpoint.errors import BadRequest, NoSuchDatabase, QueryError, Refused, Unauthorized
from collector.endpoint.greeting import BLOCK_INFO, greeting, is_greeting
from collector.endpoint.http_request import MAX_BODY_BYTES, Asked, take_apart
from collector.endpoint.limits import Limits
from collector.endpoint.metrics import EndpointMetrics
from collector.endpoint.published import DATABASE
from collector.tokens import Right, Tokens

_ZIP_FROM_BYTES = 1024
_BODY_SECONDS = 30.0


class ClickHouseApp:
    """Answers ClickHouse's HTTP interface: `/ping`, and statements on `/`."""

    def __init__(self, engine: Engine, limits: Limits, tokens: Tokens, metrics: EndpointMetrics):
        self._engine = engine
        self._limits = limits
        self._tokens = tokens
        self._metrics = metrics
        self._threads = ThreadPoolExecutor(2 * limits.queries, thread_name_prefix="pdscope-query")
        self._version = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        status, body, extra = await self._answer(scope, headers, receive)
        if "gzip" in headers.get("accept-encoding", "") and len(body) > _ZIP_FROM_BYTES and status == 200:
            body = await asyncio.to_thread(gzip.compress, body, 1)
            extra = {**extra, "content-encoding": "gzip"}
        named = {
            "content-type": "text/plain; charset=utf-8",
            "content-length": str(len(body)),
            "x-clickhouse-server-display-name": "pdscope",
            "x-clickhouse-timezone": "UTC",
            "x-content-type-options": "nosniff",
            "cache-control": "no-store",
            **extra,
        }
        encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in named.items()]
        await send({"type": "http.response.start", "status": status, "headers": encoded})
        await send({"type": "http.response.body", "body": body})

    async def _answer(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive
    ) -> tuple[int, bytes, Mapping[str, str]]:
        try:
            body = await _read(receive)
            if scope["path"] in ("/ping", "/replicas_status") or (not scope["query_string"] and not body):
                return 200, b"Ok.\n", {}
            if scope["path"] != "/" or scope["method"] not in ("GET", "POST"):
                raise BadRequest("statements are answered at / (GET or POST), and /ping")
            asked = take_apart(scope["query_string"], headers, body)
            self._admit(asked)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._query, asked)
        except QueryError as error:
            self._metrics.refused.labels(error.name.lower()).inc()
            retry = {"retry-after": "1"} if error.status == 503 else {}
            return error.status, error.body(), {"x-clickhouse-exception-code": str(error.code), **retry}

    def _admit(self, asked: Asked) -> None:
        self._check_token(asked.secret())
        if asked.options.get("database", DATABASE) not in ("", DATABASE):
            raise NoSuchDatabase(
                f"Database {asked.options['database']!r} does not exist; the views are in {DATABASE}"
            )
        if len(asked.sql.encode()) > self._limits.statement_bytes:
            raise Refused(f"the statement is longer than {self._limits.statement_bytes} bytes")

    def _check_token(self, secret: str) -> None:
        """Statements see every tenant, so the token must, too."""
        if not self._tokens.guard_reading:
            return
        found = self._tokens.of(secret.encode())
        if not found:
            raise Unauthorized("this pdscope needs a token: send it as the password, or as a bearer token")
        if not any(grant.tenant is None and grant.right is not Right.INGEST for grant in found):
            raise Unauthorized(
                "this token does not read every tenant's rows; ask REST, which keeps tenants apart"
            )

    def _query(self, asked: Asked) -> tuple[int, bytes, Mapping[str, str]]:
        check_format(asked.default_format)
        query_id = asked.options.get("query_id") or str(uuid.uuid4())
        if asked.revision and is_greeting(asked.sql):
            self._version = self._version or self._engine.version()
            return 200, greeting(self._version), {"x-clickhouse-format": "Native"}
        result = self._engine.query(
            asked.sql, asked.params, asked.settings, asked.default_format, by_block=asked.revision > 0
        )
        self._metrics.seconds.observe(result.elapsed_ns / 1e9)
        return 200, _body(result, asked.revision), _result_headers(result, query_id)


def _body(result: Result, revision: int) -> bytes:
    if result.format == "Native" and revision:
        return b"".join(BLOCK_INFO + piece for piece in result.pieces)
    return b"".join(result.pieces)


def _result_headers(result: Result, query_id: str) -> dict[str, str]:
    cost = {
        "read_rows": str(result.read_rows),
        "read_bytes": str(result.read_bytes),
        "elapsed_ns": str(result.elapsed_ns),
    }
    return {
        "x-clickhouse-format": result.format,
        "x-clickhouse-query-id": "".join(c for c in query_id if c.isprintable())[:128],
        "x-clickhouse-summary": json.dumps(cost),
        "content-type": _content_type(result.format),
    }


def _content_type(name: str) -> str:
    if name.startswith("JSON") or name == "NDJSON":
        return "application/x-ndjson" if "EachRow" in name or "ND" in name else "application/json"
    if name.startswith("CSV"):
        return "text/csv; charset=utf-8"
    if name.startswith(("Native", "RowBinary", "Arrow", "Parquet")):
        return "application/octet-stream"
    return "text/tab-separated-values; charset=utf-8"


async def _read(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise BadRequest("the client left before its body was complete")
                size += len(message.get("body", b""))
                if size > MAX_BODY_BYTES:
                    raise BadRequest(f"the body is more than {MAX_BODY_BYTES} bytes")
                chunks.append(message.get("body", b""))
                if not message.get("more_body"):
                    return b"".join(chunks)
    except TimeoutError as error:
        raise BadRequest(f"the body took more than {_BODY_SECONDS:g} s to arrive") from error
