"""How soon the page shows something, in a real Chromium, on many requests: milliseconds from the navigation.

python -m bench.page [--requests 1000000] [--data DIR]

With --data the filled and counted store stays in DIR, and is used again: what is measured is the page alone.
Paint: the browser's own first contentful paint. Figures: the tiles or the table of a view have numbers.
Whole: nothing of it is still being read. Each view is opened by its address in a new tab, twice; the
second is shown.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import urlopen

from playwright.sync_api import BrowserContext, sync_playwright

from collector.store import Store
from tests.web.conftest import CHROMIUM, FLAGS

SECONDS = 4 * 3600
VIEWS = {
    "overview": ".tile .big",
    "why": ".verdict",
    "requests": "tbody tr",
    "request": ".waterfall",
    "telemetry": ".panel",
}
"""A view, and what must be there to call it useful."""


def main() -> None:
    """Fill a store, serve it, open every view."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path)
    asked = parser.parse_args()
    with ExitStack() as stack:
        profile = stack.enter_context(tempfile.TemporaryDirectory())
        folder = asked.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if not (folder / "metadata").exists():
            _fill(folder, asked.requests)
        api = stack.enter_context(_served(folder))
        playwright = stack.enter_context(sync_playwright())
        print(f"load average {os.getloadavg()[0]:.0f}", flush=True)
        context = playwright.chromium.launch_persistent_context(profile, executable_path=CHROMIUM, args=FLAGS)
        for view, useful in VIEWS.items():
            address = f"{api}/?view={view}&id=request-{asked.requests // 2}"
            _open(context, address, useful)
            paint, figures, whole = _open(context, address, useful)
            print(f"{view:10} paint {paint:5.0f}  figures {figures:6.0f}  whole {whole:6.0f} ms", flush=True)
        context.close()


def _fill(folder: Path, requests: int) -> None:
    store = Store.open(folder)
    fill = (Path(__file__).parent / "rest_fill.sql").read_text("utf-8").strip().rstrip(";")
    store.command(fill, {"start": int(time.time()) - SECONDS, "seconds": SECONDS, "count": requests})
    store.close()


def _open(context: BrowserContext, address: str, useful: str) -> tuple[float, float, float]:
    page = context.new_page()
    began = time.monotonic()
    page.goto(address, wait_until="commit")
    page.locator(f"main {useful}").first.wait_for(timeout=120_000)
    figures = (time.monotonic() - began) * 1000
    page.locator("main:not([aria-busy])").wait_for(timeout=120_000)
    whole = (time.monotonic() - began) * 1000
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    page.close()
    return paint, figures, whole


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """`pdscope serve` on the store, once it has counted every minute."""
    free = [
        flag
        for name in ("api", "otlp-grpc", "otlp-http", "clickhouse-http")
        for flag in (f"--{name}", "127.0.0.1:0")
    ]
    command = [sys.executable, "-m", "analyzer.cli.main", "serve", "--json", "--data", str(folder), *free]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        addresses = json.loads(process.stdout.readline())
        _wait_until_counted(addresses["clickhouse_http"])
        yield addresses["api"]
    finally:
        process.terminate()
        process.wait()


def _wait_until_counted(clickhouse: str) -> None:
    """Until the oldest minute is counted, which is the last to be."""
    while True:
        with urlopen(
            f"{clickhouse}/", b"SELECT toUInt32(now()) - toUInt32(min(minute)) FROM objective_minutes"
        ) as answer:
            if int(answer.read()) >= SECONDS - 120:
                return
        time.sleep(2)


if __name__ == "__main__":
    main()
