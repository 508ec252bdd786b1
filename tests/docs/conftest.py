"""A running pdscope that has received a recorded capture."""

import time
from datetime import UTC, datetime

import httpx
import pytest

from analyzer.demo.capture import load
from tests.cli.conftest import Served, served

__all__ = ["served"]

EXPORTS = 60


@pytest.fixture(scope="package")
def window(served: Served) -> dict[str, str]:
    """Send the first exports of the vLLM capture; return the window that holds their requests."""
    capture = load("vllm")
    body = b"".join(export.body for export in capture.exports[:EXPORTS])
    headers = {"Content-Type": "application/x-protobuf"}
    httpx.post(f"{served.otlp_http}/v1/traces", content=body, headers=headers, timeout=60).raise_for_status()
    start = capture.started_ns // 10**9
    asked = {"from": _text(start - 60), "to": _text(start + 600)}
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = httpx.get(
            f"{served.api}/api/v1/requests", params={**asked, "missed": "true"}, timeout=60
        ).json()
        if found["total"]:
            return asked
        time.sleep(0.25)
    raise AssertionError(f"no missed request: {found}")


def _text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
