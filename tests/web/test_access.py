"""Readable by everybody: axe's rules, contrast, keyboard, and every width from a phone to a wide desk."""

from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.paths import PROJECT
from tests.web.recorded_api import RecordedApi
from tests.web.steps import FIXED, settled

AXE = (PROJECT / "tests" / "web" / "vendor" / "axe-core" / "axe.min.js").read_text()
VIEWS = {
    "overview": FIXED,
    "why": FIXED,
    "requests": FIXED,
    "pools": FIXED,
    "transfers": FIXED,
    "orphans": FIXED,
    "telemetry": FIXED,
    "plan": "plan=0123456789abcdef",
    "request": "id=slow",
    "request composite": "id=composite",
    "request retried": "id=retried&zoom=all",
}
RUN_AXE = """async () => {
  const found = await axe.run(document, { resultTypes: ['violations'] });
  const where = (node) => `${node.target.join(' ')} ${node.failureSummary}`;
  return found.violations.map((v) => `${v.id} (${v.impact}): ${v.nodes.map(where).join(' | ')}`);
}"""


def address_of(address: str, view: str) -> str:
    return f"{address}/?view={view.split()[0]}&{VIEWS[view]}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(
    page: Page, api: RecordedApi, address: str, view: str, scheme: Literal["light", "dark"]
) -> None:
    api.later = True
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(address_of(address, view))
    settled(page)
    page.evaluate(AXE)
    assert page.evaluate(RUN_AXE) == []


def test_axe_finds_nothing_in_empty_states_and_help(page: Page, address: str) -> None:
    page.goto(address_of(address, "why"))
    settled(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.evaluate(AXE)
    assert page.evaluate(RUN_AXE) == []


def test_axe_would_find_something(page: Page, address: str) -> None:
    page.goto(address_of(address, "telemetry"))
    settled(page)
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    page.evaluate(AXE)
    assert any(found.startswith("button-name") for found in page.evaluate(RUN_AXE))


@pytest.mark.parametrize("width", [360, 390, 768, 1024, 1440, 2560])
def test_nothing_sticks_out_at_any_width(page: Page, api: RecordedApi, address: str, width: int) -> None:
    api.later = True
    page.set_viewport_size({"width": width, "height": 800})
    for view in VIEWS:
        page.goto(address_of(address, view))
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view


CUT = """[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1)
  .map((e) => e.getAttribute('aria-label'))"""


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_table_is_cut_on_a_telephone_or_a_laptop(
    page: Page, api: RecordedApi, address: str, width: int
) -> None:
    api.later = True
    page.set_viewport_size({"width": width, "height": 800})
    for view in VIEWS:
        page.goto(address_of(address, view))
        settled(page)
        assert page.evaluate(CUT) == [], view


@pytest.mark.parametrize(("scheme", "ground"), [("light", "rgb(244, 246, 248)"), ("dark", "rgb(12, 17, 22)")])
def test_the_theme_follows_the_system(
    page: Page, address: str, scheme: Literal["light", "dark"], ground: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(address_of(address, "telemetry"))
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == ground


def test_the_theme_can_be_chosen_and_is_remembered(page: Page, address: str) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(address_of(address, "telemetry"))
    settled(page)
    page.keyboard.press("t")
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    settled(page)
    page.locator("#theme").click()
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")


def test_charts_take_the_colours_of_the_theme(page: Page, address: str) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(address_of(address, "overview"))
    settled(page)
    shot = "document.querySelector('canvas').toDataURL()"
    light = page.evaluate(shot)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(200)
    assert page.evaluate(shot) != light


def test_everything_that_acts_can_be_reached_with_tab_and_shows_it(page: Page, address: str) -> None:
    page.goto(address_of(address, "request"))
    settled(page)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
            )
        )
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or page.evaluate("document.activeElement === document.body")
    assert any(name.startswith("prefill compute;") for name in reached)
    assert {"Skip to content", "Overview", "Until first token"} <= reached


def test_a_bar_that_has_the_focus_is_explained_in_words(page: Page, address: str) -> None:
    page.goto(address_of(address, "request"))
    page.locator(".lane:not(.strip)").get_by_role("button", name="prefill queue;").focus()
    expect(page.locator(".explained")).to_contain_text("prefill queue; on prefill-")
    expect(page.locator(".explained")).to_contain_text("exposed; observed")
