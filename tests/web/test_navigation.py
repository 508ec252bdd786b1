"""Addresses, filters, live updates, tokens and failures of the connection."""

import re
import time
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import Page, expect

from tests.web.recorded_api import RecordedApi, refusal
from tests.web.steps import FIXED, settled

NOON = 1795953600


def test_a_deep_link_asks_rest_for_exactly_what_it_says(page: Page, api: RecordedApi, address: str) -> None:
    chosen = "model=m1&tenant=acme&route=chat&cohort=c2&ttft=1.5&tpot=0.02&target=0.95"
    page.goto(f"{address}/?{FIXED}&{chosen}")
    settled(page)
    expected = {k: v[0] for k, v in parse_qs(f"{FIXED}&{chosen}").items()}
    for call in ("slo", "slo/timeseries", "latency", "requests"):
        assert expected.items() <= api.queries(call)[0].items(), call
    assert api.queries("slo/timeseries")[0]["step"] == "60"


def test_without_a_choice_the_last_hour_is_asked_for(page: Page, api: RecordedApi, address: str) -> None:
    page.goto(f"{address}/")
    settled(page)
    asked = api.queries("slo")[0]
    assert float(asked["to"]) - float(asked["from"]) == 3600


def test_an_objective_typed_in_is_asked_for_and_stays_across_views(
    page: Page, api: RecordedApi, address: str
) -> None:
    page.goto(f"{address}/?{FIXED}")
    page.get_by_label("TTFT ≤ (s)").fill("0.5")
    page.keyboard.press("Enter")
    page.wait_for_url("**ttft=0.5**")
    page.get_by_role("link", name="Requests", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(50)
    assert api.queries("requests")[-1]["ttft"] == "0.5"


def test_names_known_to_rest_are_suggested(page: Page, api: RecordedApi, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    page.get_by_label("tenant").focus()
    expect(page.locator("#names-tenant option")).to_have_count(2)
    assert {q.get("by") for q in api.queries("latency")} >= {"tenant"}


def test_choosing_a_range_leaves_fixed_times(page: Page, api: RecordedApi, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    page.locator("[name=range]").select_option("6h")
    page.wait_for_url("**range=6h**")
    settled(page)
    assert "from=" not in page.url
    expect(page.locator("#live")).to_have_text("Pause")


def test_rest_is_the_judge_of_a_time_and_the_field_is_marked(
    page: Page, api: RecordedApi, address: str
) -> None:
    bad = refusal(400, "bad_time_range", "from 1795921200 is not before to 1795917600", "from")
    for call in ("slo", "slo/timeseries", "latency", "requests", "diagnosis"):
        api.replaced[call] = bad
    page.goto(f"{address}/?from=1795921200&to=1795917600")
    expect(page.locator("main")).to_contain_text(
        "HTTP 400: from 1795921200 is not before to 1795917600 (from)"
    )
    expect(page.locator(".failure")).to_have_count(1)
    expect(page.locator("[name=from]")).to_have_attribute("aria-invalid", "true")


def test_the_digits_open_the_views_and_back_returns(page: Page, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    settled(page)
    page.keyboard.press("3")
    expect(page.locator("#tabs [aria-current]")).to_have_text("Requests")
    page.keyboard.press("u")
    expect(page.locator("#tabs [aria-current]")).to_have_text("Overview")


def test_shortcuts_sleep_while_somebody_types(page: Page, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    page.keyboard.press("/")
    page.keyboard.type("3pt?")
    expect(page.get_by_role("searchbox")).to_have_value("3pt?")
    expect(page.locator("#tabs [aria-current]")).to_have_text("Overview")


def test_help_lists_the_keys_and_closes_with_escape(page: Page, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    settled(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next, previous row")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def live_page(page: Page, address: str) -> None:
    """The list, live, on a clock that only the test moves."""
    page.clock.install(time=NOON)
    page.goto(f"{address}/?view=requests")
    expect(page.locator("tbody tr")).to_have_count(50)
    with page.expect_response(re.compile("/api/v1/requests")):
        page.clock.pause_at(NOON + 600)


def asked_after(page: Page, api: RecordedApi, seconds: int) -> int:
    """How often the list is read while the page's clock goes on by `seconds`."""
    before = len(api.queries("requests"))
    for _ in range(seconds):
        page.clock.run_for(1000)
        time.sleep(0.02)
    return len(api.queries("requests")) - before


def seconds_to_next_read(page: Page, api: RecordedApi) -> int:
    """On the page's clock. The wait begins once an answer is drawn, which takes a moment of real time."""
    time.sleep(0.3)
    for second in range(1, 20):
        if asked_after(page, api, 1):
            return second
    raise AssertionError("not read again within 20 s")


def test_a_running_window_is_read_again_every_five_seconds(
    page: Page, api: RecordedApi, address: str
) -> None:
    live_page(page, address)
    waits = [seconds_to_next_read(page, api) for _ in range(3)]
    assert min(waits) == 5
    assert max(waits) <= 8


def test_nothing_is_read_while_the_page_is_hidden_and_at_once_when_it_is_back(
    page: Page, api: RecordedApi, address: str
) -> None:
    live_page(page, address)
    hide = """(hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, True)
    assert asked_after(page, api, 12) == 0
    with page.expect_response(re.compile("/api/v1/requests")):
        page.evaluate(hide, False)


def test_p_pauses_and_resumes(page: Page, api: RecordedApi, address: str) -> None:
    live_page(page, address)
    page.keyboard.press("p")
    expect(page.locator("#live")).to_have_text("Resume")
    assert asked_after(page, api, 12) == 0
    with page.expect_response(re.compile("/api/v1/requests")):
        page.keyboard.press("p")


def test_a_fixed_window_is_read_once(page: Page, api: RecordedApi, address: str) -> None:
    page.clock.install(time=NOON)
    page.goto(f"{address}/?view=requests&{FIXED}")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.clock.pause_at(NOON + 600)
    assert asked_after(page, api, 20) == 0


def test_an_update_keeps_the_row_that_has_the_focus(page: Page, api: RecordedApi, address: str) -> None:
    live_page(page, address)
    page.keyboard.press("j")
    page.keyboard.press("j")
    before = page.evaluate("document.activeElement.dataset.keep")
    assert before.startswith("row-")
    assert seconds_to_next_read(page, api) >= 5
    settled(page)
    assert page.evaluate("document.activeElement.dataset.keep") == before


def test_when_pdscope_goes_away_the_last_answer_stays_marked_as_old(
    page: Page, api: RecordedApi, address: str
) -> None:
    live_page(page, address)
    page.route("**/api/v1/**", lambda route: route.abort())
    page.clock.run_for(6000)
    expect(page.locator("#notice")).to_contain_text("pdscope does not answer")
    expect(page.locator("#notice")).to_contain_text("What is below was read earlier")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.unroute("**/api/v1/**")
    page.clock.run_for(6000)
    expect(page.locator("#notice")).to_be_empty()


def test_a_token_is_asked_for_used_and_never_put_in_the_address(
    page: Page, api: RecordedApi, address: str
) -> None:
    api.token = "s3cret"
    page.goto(f"{address}/?{FIXED}")
    page.get_by_label("Token").fill("s3cret")
    page.keyboard.press("Enter")
    expect(page.locator(".tile").nth(0)).to_contain_text("76.3 %")
    expect(page.locator("#notice")).to_be_empty()
    assert "s3cret" not in urlparse(page.url).query
    page.evaluate("sessionStorage.clear()")


def test_a_range_that_is_none_of_ours_is_the_last_hour(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=requests&range=2h")
    expect(page.locator("#filters summary")).to_contain_text("Last hour")
    expect(page.locator("#filters [name=range]")).to_have_value("1h")
