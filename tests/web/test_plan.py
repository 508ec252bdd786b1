"""The Plan tab: asks with the window and objective above it, follows a plan, shows what REST says."""

import time

from playwright.sync_api import Page, expect

from tests.web.recorded_api import RecordedApi, recorded
from tests.web.steps import FIXED, settled

DONE = "view=plan&plan=0123456789abcdef"
ANSWER = recorded("later/plan")["answer"]


def test_asking_sends_the_window_the_objective_and_the_grid_and_leads_to_the_plan(
    page: Page, api: RecordedApi, address: str
) -> None:
    page.goto(f"{address}/?view=plan&{FIXED}&model=llama&ttft=1.5")
    page.locator("[data-keep=plan-workers]").fill("3")
    page.locator("[data-keep=plan-chunks]").fill("256, 1024")
    page.locator("[data-keep=plan-go]").click()
    page.wait_for_url("**plan=0123456789abcdef**")
    settled(page)
    assert api.posted == [
        {
            "scope": {"from": "1795917600", "to": "1795921200", "model": "llama"},
            "objective": {"ttft": 1.5},
            "grid": {"workers": 3, "chunks": [256, 1024], "headroom": 0.15},
            "served_chunk": None,
        }
    ]
    expect(page.locator("[data-panel=plan-recommendation]")).to_contain_text(
        ANSWER["recommendation"]["statement"]
    )


def test_a_link_to_a_plan_shows_all_of_it(page: Page, address: str) -> None:
    page.goto(f"{address}/?{DONE}")
    for plot in ("frontier", "ratios", "lanes"):
        drawing = page.locator(f"[data-panel=plot-{plot}] svg")
        expect(drawing).to_be_visible()
        assert "modelled" in (drawing.get_attribute("aria-label") or "")
    rows = page.locator("[data-panel=plan-scenarios] tbody tr")
    expect(rows).to_have_count(sum(row["arrivals"] == 1 for row in ANSWER["scenarios"]))
    expect(rows.filter(has_text="1P+1D").first).to_contain_text("of its service rate")
    expect(page.locator("[data-panel=plan-degraded]")).to_contain_text("the link lost")
    expect(page.locator("[data-panel=plan-signals]")).to_contain_text("queue_depth")
    expect(page.locator("[data-panel=plan-inputs]")).to_contain_text("supplied")


def test_a_plan_under_way_shows_how_far_it_is_and_is_asked_for_again(
    page: Page, api: RecordedApi, address: str
) -> None:
    # another test may have stopped the clock, which pages of one browser share
    page.clock.install()
    page.clock.resume()
    page.goto(f"{address}/?view=plan&plan=running&{FIXED}")
    expect(page.locator("[data-panel=plan-progress]")).to_contain_text("3 of 9 simulations")
    until = time.monotonic() + 60
    while len(api.queries("plan/running")) < 3:
        assert time.monotonic() < until, "not asked for again"
        page.wait_for_timeout(100)


def test_a_failed_and_an_unknown_plan_say_why(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=plan&plan=failed&{FIXED}")
    expect(page.locator(".failure")).to_contain_text("no requests are stored")
    page.goto(f"{address}/?view=plan&plan=nowhere&{FIXED}")
    expect(page.locator("main")).to_contain_text("no plan 'nowhere'")
    expect(page.locator("[data-keep=plan-go]")).to_be_visible()


def test_drawings_are_made_for_the_width_there_is(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/?{DONE}")
    expect(page.locator("[data-panel=plot-lanes] svg")).to_be_visible()
    assert page.evaluate("document.querySelector('[data-panel=plot-lanes] svg').viewBox.baseVal.width") < 380


def test_the_receipt_can_be_saved_where_a_token_is_needed(page: Page, api: RecordedApi, address: str) -> None:
    page.goto(f"{address}/?{DONE}")
    button = page.get_by_role("button", name="Save its matrix")
    expect(button).to_be_visible()
    api.token = "secret"
    page.evaluate("sessionStorage.setItem('pdscope.token', 'secret')")
    with page.expect_download() as saved:
        button.click()
    assert saved.value.suggested_filename == "plan-0123456789abcdef.csv"
    assert saved.value.path().read_text() == "a receipt, csv"
