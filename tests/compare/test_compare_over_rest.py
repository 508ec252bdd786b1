"""`GET /compare`: parameters, shape, refusals."""

import json
import re
from typing import Any

import httpx
import pytest

from collector.store.store import Store
from tests.api.rows import insert
from tests.compare.test_comparison import conversations, side
from tests.docs.test_rest_page import differences
from tests.paths import PROJECT

WINDOW = {"from": "2026-03-02T12:00:00Z", "to": "2026-03-02T13:00:00Z"}
SIDES = {"baseline": "a", "candidate": "b"}


def ask(client: httpx.Client, **given: Any) -> httpx.Response:
    return client.get("/api/v1/compare", params={**WINDOW, **given})


def test_two_cohorts_are_compared(store: Store, client: httpx.Client) -> None:
    insert(store, [*side("a", 100, 50), *side("b", 100, 5)])
    body = ask(client, **SIDES, ttft=1, target=0.9, baseline_gpus=2, candidate_gpus=2).json()
    assert (body["baseline"]["cohort"], body["candidate"]["cohort"]) == ("a", "b")
    assert body["attainment"]["joint"]["better"] == "candidate"
    assert body["baseline"]["gpus"] == {"value": 2.0, "source": "supplied", "reason": None}
    assert body["objectives"] == [
        {"name": "default", "ttft": 1.0, "tpot": 0.1, "target": 0.9, "source": "override"}
    ]
    (bucket,) = body["buckets"]
    assert (bucket["bucket"], bucket["weight"], bucket["baseline"]["evaluated"]) == ("0-1K", 1.0, 100)
    assert bucket["baseline"]["ttft"]["p99"] == 2.0
    assert body["method"]["seed"] == 0


def test_before_and_after_are_two_windows(store: Store, client: httpx.Client) -> None:
    insert(store, side("a", 100, 0))
    given = {"from": "2026-03-02T12:30:00Z", "baseline_from": "2026-03-02T12:00:00Z"}
    body = ask(client, **given, baseline_to="2026-03-02T12:30:00Z").json()
    assert [body[name]["requests"]["total"] for name in ("baseline", "candidate")] == [50, 50]
    assert body["baseline"]["cohort"] is None


def test_unlike_sides_are_a_conflict(store: Store, client: httpx.Client) -> None:
    insert(store, [*side("a", 30, 0), *side("b", 30, 0, model="qwen")])
    answer = ask(client, **SIDES)
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "unlike"
    assert "candidate 'qwen'" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "baseline"),
        ({"baseline": "a", "candidate": "a"}, "baseline"),
        ({"candidate": "b"}, "baseline"),
        ({"baseline": "a", "candidate": "a", "baseline_from": "2026-03-02T11:30:00Z"}, "baseline"),
        ({**SIDES, "cohort": "a"}, "cohort"),
        ({**SIDES, "baseline_from": "noon"}, "baseline_from"),
        ({**SIDES, "baseline_from": "2026-03-02T14:00:00Z"}, "baseline_from"),
        ({**SIDES, "baseline_gpus": 0}, "baseline_gpus"),
        ({**SIDES, "accelerators": "ignore"}, "accelerators"),
        ({**SIDES, "seed": -1}, "seed"),
        ({"baseline": "x" * 600, "candidate": "b"}, "baseline"),
    ],
)
def test_wrong_parameters_are_named(client: httpx.Client, given: dict[str, Any], field: str) -> None:
    answer = ask(client, **given)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


def test_the_page_shows_the_answer_as_it_is(store: Store, client: httpx.Client) -> None:
    insert(store, [*conversations("a", 4), *conversations("b", 20)])
    page = (PROJECT / "docs" / "rest.md").read_text().partition("## `GET /compare`")[2]
    shown = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])
    assert differences(shown, ask(client, **SIDES).json()) == []
