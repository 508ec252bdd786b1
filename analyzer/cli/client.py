"""Asks a pdscope over REST: a running one, or one brought up for this command alone."""

import http.client
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urlencode, urlsplit

from analyzer.cli.errors import CommandError
from collector.errors import ConfigError
from collector.settings import Settings

PREFIX = "/api/v1"


class Client:
    """REST of one pdscope. Every method raises CommandError with the server's words when it refuses."""

    def __init__(self, url: str, token: str | None = None):
        """Use `http(s)://HOST:PORT`, or HOST:PORT alone. Raises ConfigError when it is neither."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = None
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or (port is None and ":" in parts.netloc)
        ):
            raise ConfigError(f"--api {url!r} is not an address such as http://127.0.0.1:8080")
        self.url = f"{parts.scheme}://{parts.netloc}"
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
        status, body = self._send("GET", _address(path, params))
        if status >= 400:
            _decoded(status, body, self.url)
        return body.decode()

    def find(self, request_id: str) -> dict[str, Any]:
        """One request, or `{"requests": […]}` when several bear the id."""
        return self.get(f"/requests/{quote(request_id, safe='')}")

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Answer of a POST of JSON."""
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        return self._ask("POST", _address(path, {}), io.BytesIO(data), headers)

    def post_file(self, path: str, body: BinaryIO, size: int, **params: Any) -> dict[str, Any]:
        """Stream a file of `size` bytes."""
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        return self._ask("POST", _address(path, params), body, headers)

    def post_json(self, path: str, body: Mapping[str, Any], **params: Any) -> dict[str, Any]:
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


def _address(path: str, params: Mapping[str, Any]) -> str:
    given = {name.rstrip("_"): value for name, value in params.items() if value is not None}
    return f"{PREFIX}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")


def _decoded(status: int, text: bytes, url: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
        message = body["error"]["message"] if status >= 400 else ""
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{url} answers HTTP {status}, and not as pdscope does") from error
    if status == 401:
        raise ConfigError(f"{url}: {message}; set PDSCOPE_TOKEN")
    if status >= 400:
        raise CommandError(message)
    assert isinstance(body, dict)
    return body


@contextmanager
def connect(api: str | None, settings: Settings, create: bool = False) -> Iterator[Client]:
    """Yield a client of the pdscope at `api`, else of the one that holds the data directory, else of our own.

    Raises ConfigError when there is none and the directory holds no store, unless it may be created.
    """
    from collector.store.lock import running_api

    address = api or running_api(settings.data)
    if address:
        yield Client(address, settings.token)
        return
    if not create and not (settings.data / "pdscope.lock").exists():
        raise ConfigError(
            f"no pdscope runs on {settings.data} and there is no store in it; "
            "start `pdscope serve`, or give --data or --api"
        )
    with _own(settings) as client:
        yield client


@contextmanager
def _own(settings: Settings) -> Iterator[Client]:
    """Open the store in this process and answer on a free loopback port."""
    from dataclasses import replace

    from analyzer.cli.process import Process
    from collector.settings import Address

    process = Process(replace(settings, api=Address("127.0.0.1", 0)), receive=False)
    process.start()
    try:
        yield Client(process.url, settings.token)
        process.settle()
    finally:
        process.stop()


def expand(paths: list[Path]) -> list[Path]:
    """Files named or lying in named directories, sorted. Raises ConfigError for a path that is not there."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(found for found in path.rglob("*") if found.is_file() and found.name[0] != ".")
        elif path.is_file():
            files.append(path)
        else:
            raise ConfigError(f"{path}: no such file or directory")
    return files
