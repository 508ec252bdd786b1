"""The part of Grafana's HTTP API that pushing dashboards needs."""

import http.client
import json
from typing import Any
from urllib.parse import quote, urlsplit

from analyzer.cli.errors import CommandError
from collector.errors import ConfigError


class Grafana:
    """One Grafana. Raises ConfigError when it cannot be reached, CommandError when it refuses."""

    def __init__(self, url: str, token: str | None = None, timeout_s: float = 30.0):
        """url: http(s)://HOST[:PORT][/PATH]. Raises ConfigError when it is none."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"--grafana {url!r} is not an address such as http://127.0.0.1:3000")
        self.url = url.rstrip("/")
        self._parts = parts
        self._timeout_s = timeout_s
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def ensure_folder(self, uid: str) -> None:
        """Make a folder of this uid and title unless it is there."""
        status, body = self._ask("GET", f"/api/folders/{quote(uid, safe='')}")
        if status == 404:
            status, body = self._ask("POST", "/api/folders", {"uid": uid, "title": uid})
        self._expect(status, body, f"folder {uid!r}")

    def put_dashboard(self, dashboard: dict[str, Any], folder: str) -> str:
        """Create or replace a dashboard; returns its address. Pushing the same again changes nothing."""
        body = {"dashboard": dashboard, "folderUid": folder, "overwrite": True, "message": "pdscope"}
        status, answer = self._ask("POST", "/api/dashboards/db", body)
        self._expect(status, answer, f"dashboard {dashboard['uid']!r}")
        return f"{self.url}/d/{dashboard['uid']}"

    def _expect(self, status: int, body: Any, what: str) -> None:
        if status >= 400:
            said = body.get("message") if isinstance(body, dict) else None
            hint = "; set GRAFANA_TOKEN to a token that may edit" if status in (401, 403) else ""
            raise CommandError(f"{self.url} refuses {what}: HTTP {status} {said or ''}{hint}")

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(str(self._parts.hostname), self._parts.port, timeout=self._timeout_s)
        data = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, data, self._headers)
            answer = connection.getresponse()
            status, text = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ConfigError(f"no Grafana answers at {self.url}: {error}") from error
        finally:
            connection.close()
        try:
            return status, json.loads(text or b"null")
        except ValueError:
            return status, None
