"""A real page in a real headless Chromium, served by a real uvicorn on a free loopback port."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import BrowserContext, Page, Playwright, sync_playwright

from tests.web.recorded_api import RecordedApi

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def _served() -> Iterator[tuple[RecordedApi, str]]:
    api = RecordedApi()
    server = uvicorn.Server(uvicorn.Config(api.app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        assert time.monotonic() < deadline, "uvicorn did not start in 20 s"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield api, f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


@pytest.fixture
def api(_served: tuple[RecordedApi, str]) -> RecordedApi:
    _served[0].reset()
    return _served[0]


@pytest.fixture(scope="session")
def address(_served: tuple[RecordedApi, str]) -> str:
    return _served[1]


@pytest.fixture(scope="session")
def _playwright() -> Iterator[Playwright]:
    assert CHROMIUM.exists(), f"{CHROMIUM} is missing; run tests/install-browser.sh"
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def context(_playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    context = _playwright.chromium.launch_persistent_context(
        tmp_path_factory.mktemp("chromium"),
        executable_path=CHROMIUM,
        args=FLAGS,
        timezone_id="UTC",
        locale="en-GB",
        viewport={"width": 1440, "height": 900},
    )
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, api: RecordedApi, address: str) -> Iterator[Page]:
    """A page that fails its test on any script error, refused resource or broken policy."""
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(f"script error: {error}"))
    page.on(
        "console",
        lambda m: (
            complaints.append(m.text)
            if m.type == "error" and "Failed to load resource" not in m.text
            else None
        ),
    )
    page.on(
        "request", lambda r: None if r.url.startswith(address) else complaints.append(f"left home: {r.url}")
    )
    yield page
    page.close()
    assert complaints == []
