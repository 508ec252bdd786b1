"""docs/rest.md shows every endpoint, and answers of the shape that REST gives."""

import json
import re
from typing import Any

import httpx
import pytest

from tests.cli.conftest import Served
from tests.paths import PROJECT

PAGE = (PROJECT / "docs" / "rest.md").read_text()
EXAMPLES = re.findall(r"```sh\ncurl -s '(http[^']+)'\n```\n```json\n(.*?)```", PAGE, re.DOTALL)
KEYED_BY_DATA = {
    *("buckets", "by_cause", "by_phase", "causes", "not_measured", "quantities", "refused", "skipped"),
    "sources",
}


def test_the_page_names_every_endpoint(served: Served) -> None:
    paths = httpx.get(f"{served.api}/api/v1/openapi.json").json()["paths"]
    calls = {
        f"`{method.upper()} {path.removeprefix('/api/v1')}`"
        for path, methods in paths.items()
        for method in methods
    }
    assert {call for call in calls if call not in PAGE} == set()


@pytest.mark.parametrize(("url", "shown"), EXAMPLES, ids=[url.partition("8080")[2] for url, _ in EXAMPLES])
def test_an_answer_has_the_shape_shown(served: Served, window: dict[str, str], url: str, shown: str) -> None:
    asked = httpx.URL(url)
    asked = asked.copy_with(port=httpx.URL(served.api).port)
    if re.search(r"/requests/[0-9a-f]{32}$", asked.path):
        listed = httpx.get(
            f"{served.api}/api/v1/requests", params={**window, "missed": "true"}, timeout=60
        ).json()
        asked = asked.copy_with(path=f"/api/v1/requests/{listed['requests'][0]['key']}")
    elif asked.path.startswith("/api/v1/") and "from" not in asked.params:
        asked = asked.copy_merge_params(window)
    assert differences(json.loads(shown), httpx.get(asked, timeout=60).json()) == []


def differences(shown: Any, real: Any, where: str = "") -> list[str]:
    """Members that only one of two answers has; of lists the first entries are compared."""
    if isinstance(shown, list) and isinstance(real, list) and shown and real:
        return differences(shown[0], real[0], where + "[]")
    if not isinstance(shown, dict) or not isinstance(real, dict) or where.split(".")[-1] in KEYED_BY_DATA:
        return []
    odd = [f"{where}.{name}" for name in shown.keys() ^ real.keys()]
    return odd + [
        odd
        for name in shown.keys() & real.keys()
        for odd in differences(shown[name], real[name], f"{where}.{name}")
    ]


def test_a_difference_is_told() -> None:
    assert differences({"a": [{"b": 1}]}, {"a": [{"c": 1}]}) in ([".a[].b", ".a[].c"], [".a[].c", ".a[].b"])
