"""What several tests of the page do."""

from playwright.sync_api import Page, expect

FIXED = "from=1795917600&to=1795921200"
"""The window of the recorded answers, as the address has it."""


def settled(page: Page) -> None:
    """Wait until the view is drawn from what was last asked for."""
    expect(page.locator("main h1")).to_have_count(1)
    expect(page.locator("main")).not_to_have_attribute("aria-busy", "true")
