"""The code of docs/python.md runs, one block after the other, and the client knows every call of REST."""

import contextlib
import io

import httpx
import pyarrow
import pytest

from analyzer.client import Client, Refused, table
from tests.cli.conftest import Served
from tests.docs.pages import blocks
from tests.paths import PROJECT

PAGE = PROJECT / "docs/python.md"


def test_the_code_of_the_page_tells_the_story(served: Served, window: dict[str, str]) -> None:
    said = io.StringIO()
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(said):
        for block in blocks(PAGE, "python"):
            code = block.replace("http://127.0.0.1:8080", served.api)
            for shown, name in (("2026-01-31T12:00:00Z", "from"), ("2026-01-31T13:00:00Z", "to")):
                code = code.replace(shown, window[name])
            exec(compile(code, str(PAGE), "exec"), names)
    text = said.getvalue()
    assert "attainment 0." in text
    assert "of the misses, confidence" in text
    assert " missed; columns: key, request_id" in text
    assert "400 bad_time_range from from: 'yesterday'" in text
    missed = names["missed"]
    assert isinstance(missed, pyarrow.Table)
    assert missed.num_rows == _total(served, window)


def _total(served: Served, window: dict[str, str]) -> int:
    params = {**window, "ttft": 0.5, "tpot": 0.02, "target": 0.99, "missed": "true"}
    return int(httpx.get(f"{served.api}/api/v1/requests", params=params, timeout=60).json()["total"])


def test_every_get_of_rest_is_one_call(served: Served, window: dict[str, str]) -> None:
    client = Client(served.api)
    paths = client.get("/openapi.json")["paths"]
    asked = {"from_": window["from"], "to": window["to"]}
    for path, methods in paths.items():
        call = path.removeprefix("/api/v1")
        if "get" not in methods or "{" in call or not path.startswith("/api/v1"):
            continue
        if call == "/compare":
            # without cohorts both sides hold the same requests
            with pytest.raises(Refused, match=r"cohort|side"):
                client.get(call, **asked)
            continue
        assert client.get(call, **asked)


def test_pages_are_followed_to_the_end(served: Served, window: dict[str, str]) -> None:
    client = Client(served.api)
    asked = {"from_": window["from"], "to": window["to"]}
    rows = list(client.requests(limit=7, **asked))
    assert len(rows) == client.get("/requests", **asked)["total"] > 14
    assert len({row["key"] for row in rows}) == len(rows)


def test_rows_become_columns_and_what_is_not_known_is_null() -> None:
    made = table([{"a": 1, "b": {"c": None, "d": [1, 2]}}, {"a": 2, "b": {"c": 3.5}, "e": "x"}])
    assert made.to_pydict() == {"a": [1, 2], "b.c": [None, 3.5], "b.d": [[1, 2], None], "e": [None, "x"]}


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_keeps_the_servers_words(status: int) -> None:
    refusal = Refused("no", status, "forbidden", "tenant")
    assert (str(refusal), refusal.status, refusal.code, refusal.field) == (
        "no",
        status,
        "forbidden",
        "tenant",
    )
