"""The two addresses of a pdscope under test: OTLP over HTTP in, REST out."""

from __future__ import annotations

import gzip
import time
from typing import Any

import httpx

from .otlp import Export

TRIES = 6


class Unreachable(Exception):
    """The server could not be reached, refused the telemetry, or broke the contract."""


class Server:
    """A client of both; `wait_s` is how long an answer may take to become final."""

    def __init__(self, otlp: str, api: str, token: str | None = None, wait_s: float = 60.0) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.otlp, self.api, self.wait_s = otlp.rstrip("/"), api.rstrip("/"), wait_s
        self._http = httpx.Client(timeout=30.0, headers=headers, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, exports: list[Export]) -> None:
        """Post everything in order; waits and tries again where the server asks for it."""
        for export in exports:
            self._post(f"{self.otlp}/v1/{export.kind}", gzip.compress(export.body, 1))

    def _post(self, url: str, body: bytes) -> None:
        headers = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}
        for attempt in range(TRIES):
            try:
                answer = self._http.post(url, content=body, headers=headers)
            except httpx.HTTPError as error:
                raise Unreachable(f"cannot send to {url}: {error}") from error
            if answer.status_code not in (429, 502, 503, 504):
                break
            time.sleep(min(10.0, 0.25 * 2**attempt))
        if answer.status_code // 100 != 2:
            raise Unreachable(f"{url} answered {answer.status_code}: {answer.text[:300]}")

    def get(self, path: str, **params: str | float | int) -> dict[str, Any] | None:
        """A REST document; None where the server has nothing yet (404, 422)."""
        url = f"{self.api}/api/v1{path}"
        try:
            answer = self._http.get(url, params=params)
        except httpx.HTTPError as error:
            raise Unreachable(f"cannot reach {url}: {error}") from error
        if answer.status_code in (404, 422):
            return None
        if answer.status_code != 200:
            raise Unreachable(f"{url} answered {answer.status_code}: {answer.text[:300]}")
        document = answer.json()
        if not isinstance(document, dict):
            raise Unreachable(f"{url} did not answer with a JSON object")
        return document

    def diagnosis(self, params: dict[str, str | float | int], requests: int) -> dict[str, Any]:
        """GET /diagnosis once it is settled and counts every request sent; when time is up, as it is."""
        until, pause = time.monotonic() + self.wait_s, 0.1
        while True:
            document = self.get("/diagnosis", **params)
            total = ((document or {}).get("requests") or {}).get("total")
            if document is not None and document.get("settled") is True and total == requests:
                return document
            if time.monotonic() + pause > until:
                break
            time.sleep(pause)
            pause = min(2.0, pause * 1.5)
        if document is None:
            raise Unreachable(f"no diagnosis for {params} after {self.wait_s:g} s")
        return document | {"settled": False}
