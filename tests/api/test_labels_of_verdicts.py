"""Every answer made from a diagnosis keeps to the labels that were asked for."""

import httpx
import pytest

from analyzer.slo.objectives import Objectives
from collector.store.store import Store
from tests.api.conftest import MakeClient
from tests.api.rows import NOON_NS, a_request, insert

WINDOW = {"from": str(NOON_NS // 10**9), "to": str(NOON_NS // 10**9 + 3600)}
OWN = {
    "tenant": "acme",
    "route": "/v1/chat",
    "cohort": "canary",
    "model": "qwen",
    "worker": "decode-7",
    "pool": "colocated",
}


@pytest.fixture
def asking(store: Store, make_client: MakeClient) -> httpx.Client:
    apart = {"prefill_worker": "prefill-0", "decode_worker": "decode-0"}
    insert(store, [a_request(name=f"other-{n}", ttft=9.0, **apart) for n in range(3)])
    insert(store, [a_request(name=f"of-{label}", ttft=9.0, **_labelled(label)) for label in OWN])
    return make_client(Objectives())


def _labelled(label: str) -> dict[str, str]:
    if label == "worker":
        return {"decode_worker": OWN["worker"]}
    if label == "pool":
        return {"prefill_worker": "mixed-0", "decode_worker": "mixed-0"}
    return {label: OWN[label]}


@pytest.mark.parametrize("label", OWN)
@pytest.mark.parametrize("call", ["diagnosis", "attribution", "workload", "transfers", "pools", "kv/orphans"])
def test_a_label_narrows_the_question(asking: httpx.Client, call: str, label: str) -> None:
    answer = asking.get(f"/api/v1/{call}", params={**WINDOW, label: OWN[label]})
    assert answer.status_code == 200, answer.text
    if call == "diagnosis":
        assert answer.json()["requests"]["total"] == 1
    if call == "attribution":
        assert sum(group["requests"] for group in answer.json()["groups"]) == 1
    if call == "workload":
        assert [group["arrivals"]["requests"] for group in answer.json()["groups"]] == [1]


@pytest.mark.parametrize("label", OWN)
def test_the_list_of_a_label_shows_its_causes(asking: httpx.Client, label: str) -> None:
    answer = asking.get("/api/v1/requests", params={**WINDOW, label: OWN[label]})
    assert [row["request_id"] for row in answer.json()["requests"]] == [f"of-{label}"]
    assert answer.json()["requests"][0]["causes"]


@pytest.mark.parametrize("call", ["diagnosis", "attribution", "workload", "transfers", "pools", "kv/orphans"])
def test_a_window_without_a_request_is_answered(asking: httpx.Client, call: str) -> None:
    answer = asking.get(f"/api/v1/{call}", params={"from": "1000000000", "to": "1000003600"})
    assert answer.status_code == 200, answer.text
