"""pdscope's REST from Python: `Client` for the answers, `table` for rows as Arrow, pandas or polars.

    from analyzer.client import Client, table

    pdscope = Client("http://127.0.0.1:8080")
    print(pdscope.get("/diagnosis", from_="2026-03-02T12:00:00Z")["summary"])
    frame = table(pdscope.requests(missed=True)).to_pandas()

Paths and parameters are those of `GET /api/v1/openapi.json`; a trailing underscore (`from_`) is left out.
"""

import http.client
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import quote, urlencode, urlsplit

from analyzer.cli.errors import CommandError
from collector.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow

PREFIX = "/api/v1"


class Refused(CommandError):
    """pdscope does not answer: its own words, and the HTTP status, code and field of its error."""

    def __init__(self, message: str, status: int, code: str, field: str | None):
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field
        if status == 400:  # an option of the command, passed on
            self.exit_code = 2


class Client:
    """REST of one pdscope. Every method raises Refused when it refuses, ConfigError when none answers."""

    def __init__(self, url: str, token: str | None = None):
        """Use `http(s)://HOST:PORT`, or HOST:PORT alone. Raises ConfigError when it is neither."""
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            host, port = parts.netloc, parts.port
        except ValueError:
            host, port = "", None
        if not host or parts.scheme not in ("http", "https") or not parts.hostname or host.endswith(":"):
            raise ConfigError(f"--api {url!r} is not an address such as http://127.0.0.1:8080")
        if "@" in host:
            raise ConfigError("--api names a user; pdscope knows callers by token (PDSCOPE_TOKEN)")
        if token and not (token.isascii() and token.isprintable()):
            raise ConfigError("the token holds what no HTTP header can; see PDSCOPE_TOKEN")
        self.url = f"{parts.scheme}://{host}"
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port = parts.hostname, port
        self._headers = {"Accept": "application/json"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        """Answer of a GET; parameters that are None are left out."""
        return self._ask("GET", _address(path, params))

    def text(self, path: str, **params: Any) -> str:
        """Body of a GET that answers with a document, as text."""
        return self.content(path, **params).decode()

    def content(self, path: str, **params: Any) -> bytes:
        """Body of a GET that answers with a file."""
        status, body = self._send("GET", _address(path, params))
        if status >= 400:
            _decoded(status, body, self.url)
        return body

    def requests(self, **params: Any) -> Iterator[dict[str, Any]]:
        """Every request of a window, page by page; parameters of `GET /requests`."""
        cursor: str | None = None
        while True:
            page = self.get("/requests", **{"limit": 1000, **params, "cursor": cursor})
            yield from page["requests"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def find(self, request_id: str) -> dict[str, Any]:
        """One request, or `{"requests": […]}` when several bear the id."""
        return self.get(f"/requests/{quote(request_id, safe='')}")

    def post_file(self, path: str, body: BinaryIO, size: int, **params: Any) -> dict[str, Any]:
        """Stream a file of `size` bytes."""
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        return self._ask("POST", _address(path, params), body, headers)

    def post(self, path: str, body: Mapping[str, Any], **params: Any) -> dict[str, Any]:
        """Answer of a POST of a JSON document; parameters that are None are left out, lists are repeated."""
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        return self._ask("POST", _address(path, params), io.BytesIO(data), headers)

    def _ask(
        self,
        method: str,
        address: str,
        body: BinaryIO | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        return _decoded(*self._send(method, address, body, headers), self.url)

    def _send(
        self,
        method: str,
        address: str,
        body: BinaryIO | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        connection = self._kind(self._host, self._port, timeout=600)
        try:
            connection.request(method, address, body, {**self._headers, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ConfigError(f"no pdscope answers at {self.url}: {error or type(error).__name__}") from error
        finally:
            connection.close()


def table(rows: Iterable[Mapping[str, Any]]) -> "pyarrow.Table":
    """Rows of an answer as an Arrow table, nested members as `outer.inner` columns, lists as they are.

    `.to_pandas()` and `polars.from_arrow()` take it further. Needs pyarrow: `pip install 'pdscope[frames]'`.
    """
    import pyarrow

    flat = [dict(_flat(row)) for row in rows]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    return pyarrow.table({name: [row.get(name) for row in flat] for name in columns})


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _address(path: str, params: Mapping[str, Any]) -> str:
    given = {name.rstrip("_"): value for name, value in params.items() if value is not None}
    return f"{PREFIX}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")


def _decoded(status: int, text: bytes, url: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
        message = body["error"]["message"] if status >= 400 else ""
        if not isinstance(body, dict):
            raise TypeError("no JSON object")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(f"{url} answers HTTP {status}, and not as pdscope does") from error
    if status == 401:
        raise ConfigError(f"{url}: {message}; set PDSCOPE_TOKEN")
    if status >= 400:
        refused = body["error"]
        raise Refused(message, status, str(refused.get("code", "")), refused.get("field"))
    return cast("dict[str, Any]", body)
