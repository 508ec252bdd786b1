"""Every link and picture within the repository leads somewhere."""

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, anchors, links, name
from tests.paths import PROJECT


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    dead = [link for link in links(page) if not leads(page, link)]
    assert dead == []


def leads(page: Path, link: str) -> bool:
    if link.startswith(("http://", "https://")):
        return True
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def test_the_readme_leads_to_every_page() -> None:
    linked = {link.partition("#")[0] for link in links(PROJECT / "README.md")}
    assert {name(page) for page in PAGES[1:]} <= linked
