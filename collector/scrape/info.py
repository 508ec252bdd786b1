"""What a system says of itself on a JSON page: its pool, and what both sides of a hand-off must agree on."""

import json
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import aiohttp

from collector.engines.rules import Adapter
from collector.engines.signals import InfoPage
from collector.scrape.config import Job
from collector.scrape.errors import ScrapeFailed
from collector.scrape.fetch import get


async def learn(http: aiohttp.ClientSession, url: str, job: Job, pages: Iterable[InfoPage]) -> dict[str, str]:
    """Resource attributes that the worker behind a metrics page tells; empty when it tells none."""
    parts = urlsplit(url)
    found: dict[str, str] = {}
    for page in pages:
        for path in page.paths:
            try:
                body, _ = await get(http, f"{parts.scheme}://{parts.netloc}{path}", job)
                found |= read(page, json.loads(body))
            except (ScrapeFailed, ValueError, RecursionError):
                continue
            break
    return found


def pages_of(adapters: Iterable[Adapter]) -> Mapping[str, tuple[InfoPage, ...]]:
    """The JSON pages of each system that has some."""
    return {adapter.name: adapter.pages for adapter in adapters if adapter.pages}


def read(page: InfoPage, document: object) -> dict[str, str]:
    """Attributes by the page's fields; a field that is null or no scalar is not told."""
    if not isinstance(document, dict):
        return {}
    words = dict(page.words)
    found = {}
    for name, attribute in page.fields:
        value = document.get(name)
        if isinstance(value, str | int | float) and value != "":
            text = str(value)
            if attribute == "pd.pool":
                text = words.get(text, "")
            if text:
                found[attribute] = text
    return found
