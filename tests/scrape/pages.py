"""A worker's HTTP server whose pages a test sets, and real pages."""

import gzip
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.paths import CAPTURES

Answer = bytes | tuple[int, dict[str, str], bytes] | Callable[[Any], None]


@dataclass
class Worker:
    """One HTTP server; `pages` may change while it runs."""

    port: int = 0
    pages: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def serving(
    pages: dict[str, Answer], port: int = 0, wrap: Callable[[Any], Any] | None = None
) -> Iterator[Worker]:
    worker = Worker(pages=pages)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            worker.asked.append((self.path, dict(self.headers)))
            answer = worker.pages.get(self.path, worker.pages.get(self.path.split("?")[0], (404, {}, b"")))
            if callable(answer):
                answer(self)
                return
            status, headers, body = answer if isinstance(answer, tuple) else (200, {}, answer)
            self.send_response(status)
            for name, value in {"Content-Type": "text/plain; version=0.0.4", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    if wrap:
        server.socket = wrap(server.socket)
    worker.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield worker
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def captured(name: str) -> list[str]:
    """The pages of a capture's file, oldest first."""
    text = gzip.decompress((CAPTURES / name).read_bytes()).decode()
    return re.split(r"(?m)^# SCRAPE.*\n", text)[1:] or [text]


def every_page() -> list[Path]:
    """All captured pages."""
    found = [*CAPTURES.rglob("metrics*.txt.gz"), *CAPTURES.rglob("*.prom.gz")]
    return sorted(path.relative_to(CAPTURES) for path in found)
