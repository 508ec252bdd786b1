"""The page on the real API, in a real headless Chromium: it shows what REST answers."""

from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from tests.integration.running import Server
from tests.web.conftest import CHROMIUM, FLAGS

WINDOW = {"from": "1795971600", "to": "1795975200"}


def test_the_page_shows_the_numbers_of_rest(captured: Server, tmp_path: Path) -> None:
    objective = captured.get("/slo", **WINDOW)["objectives"][0]
    slowest = captured.get("/requests", order="slowest", limit=10, **WINDOW)["requests"]
    counts = objective["requests"]
    query = "&".join(f"{name}={value}" for name, value in WINDOW.items())
    complaints: list[str] = []
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path / "profile", executable_path=CHROMIUM, args=FLAGS, timezone_id="UTC", locale="en-GB"
        )
        context.set_default_timeout(30_000)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith(captured.api) else complaints.append(r.url))

        page.goto(f"{captured.api}/?{query}")
        tiles = page.locator(".tile")
        expect(tiles.nth(0)).to_contain_text(f"{objective['attainment']['joint'] * 100:.1f} %")
        expect(tiles.nth(1)).to_contain_text(f"{counts['missed']:,} of {counts['evaluated']:,}")
        expect(tiles.nth(1)).to_contain_text(f"cancelled {counts['cancelled']:,}")
        expect(tiles.nth(1)).to_contain_text(f"incomplete {counts['incomplete']:,}")
        rows = page.locator('[data-panel="slowest"] tbody tr')
        expect(rows).to_have_count(len(slowest))
        assert slowest[0]["ttft"] > 10
        for row, request in enumerate(slowest):
            expect(rows.nth(row)).to_contain_text(f"{request['ttft']:.1f} s")
        assert captured.get("/requests", order="slowest", limit=10, **WINDOW)["requests"] == slowest

        page.goto(f"{captured.api}/?view=request&id={slowest[0]['key']}")
        expect(page.locator(".waterfall")).to_be_visible()
        expect(page.locator("main")).to_contain_text(slowest[0]["request_id"])
        expect(page.locator("main")).to_contain_text(f"{slowest[0]['ttft']:.1f} s")
        context.close()
    assert complaints == []
