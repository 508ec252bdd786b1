"""A small HTTP server for Alertmanager's webhook (version 4)."""

import hmac
import json
import logging
import sys
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from analyzer.cli.errors import CommandError
from analyzer.client import Client
from collector.errors import CollectorError, ConfigError
from collector.settings import parse_address
from dashboards.webhook.diagnosis import Why, diagnose
from dashboards.webhook.message import MAX_ALERTS, message, started_at

log = logging.getLogger(__name__)
MAX_BODY = 1 << 20


class WebhookServer:
    """Answers POST /alerts; GET /healthz says that it lives."""

    def __init__(self, listen: str, api: str, post: str | None, token: str | None):
        """post: a Slack-compatible webhook, or None to print. Raises ConfigError."""
        address = parse_address(listen, "--listen")
        if not address.loopback and not token:
            raise ConfigError(
                f"--listen {address} can be reached by other machines; set PDSCOPE_TOKEN, or use 127.0.0.1"
            )
        if post and not post.startswith(("http://", "https://")):
            raise ConfigError(f"--post {post!r} is not an http(s) address")
        self._client = Client(api, token)
        self._post = post
        self.token = token
        handler = type("Handler", (_Handler,), {"webhook": self})
        try:
            self._server = ThreadingHTTPServer((address.host, address.port), handler)
        except OSError as error:
            raise ConfigError(f"--listen {address}: {error.strerror}") from error
        self._server.daemon_threads = True
        self.url = f"http://{address.host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="webhook", daemon=True)

    def start(self) -> None:
        """Answer on a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def receive(self, notification: dict[str, Any]) -> None:
        """Enrich a notification and pass it on. Raises ValueError when it is none, OSError on failure."""
        alerts = notification.get("alerts")
        if not isinstance(alerts, list) or not alerts or not all(isinstance(item, dict) for item in alerts):
            raise ValueError("expected Alertmanager's webhook: an object with a list `alerts`")
        body = message(notification, [self._diagnosis(alert) for alert in alerts[:MAX_ALERTS]])
        text = json.dumps(body, ensure_ascii=False)
        if self._post is None:
            print(text, file=sys.stdout, flush=True)
            return
        request = Request(self._post, text.encode(), {"Content-Type": "application/json"})
        with urlopen(request, timeout=30):  # http(s) only: checked above
            pass

    def _diagnosis(self, alert: dict[str, Any]) -> Why | str:
        """A message without a diagnosis is better than none."""
        try:
            model = str(alert.get("labels", {}).get("model", ""))
            return diagnose(self._client, started_at(alert), datetime.now(UTC), model)
        except (CollectorError, CommandError, ValueError, KeyError) as error:
            return str(error)


class _Handler(BaseHTTPRequestHandler):
    webhook: WebhookServer
    timeout = 60

    def do_GET(self) -> None:
        """Say that the server lives."""
        self._answer(*((200, "ok") if self.path == "/healthz" else (404, "POST /alerts")))

    def do_POST(self) -> None:
        """Take one notification; any other status than 200 makes Alertmanager try again."""
        length = self.headers.get("Content-Length", "")
        if self.path != "/alerts":
            self._answer(404, "POST /alerts")
        elif not self._allowed():
            self._answer(401, "bring the token: Authorization: Bearer …")
        elif not length.isdigit() or int(length) > MAX_BODY:
            self._answer(413, f"a body of at most {MAX_BODY} bytes, with its length")
        else:
            self._answer(*self._taken(self.rfile.read(int(length))))

    def _taken(self, body: bytes) -> tuple[int, str]:
        try:
            notification = json.loads(body)
            if not isinstance(notification, dict):
                raise ValueError("expected a JSON object")
            self.webhook.receive(notification)
        except ValueError as error:
            return 400, f"not a notification: {error}"
        except (OSError, URLError) as error:
            log.warning("the message could not be posted: %s", error)
            return 502, "the message could not be posted"
        return 200, "ok"

    def _allowed(self) -> bool:
        wanted = self.webhook.token
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        return not wanted or hmac.compare_digest(given.encode(), wanted.encode())

    def _answer(self, status: int, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Calls are not logged: bodies and tokens stay out of logs."""
