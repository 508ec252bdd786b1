"""Listing requests and finding one."""

from dataclasses import replace

import httpx
import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.slo.objectives import Objective, Objectives
from collector.phases import TTFT_PARTS
from collector.store.store import Store
from tests.api.conftest import MakeClient
from tests.api.rows import NOON_NS, a_request, insert, key_of
from tests.assemble.otlp import body
from tests.assemble.test_arrival import native
from tests.assemble.test_identity_in_store import leg
from tests.assemble.test_tenants import of

WINDOW = {"from": "2026-03-02T12:00:00Z", "to": "2026-03-02T13:00:00Z"}
CONTRACT = {
    *(
        "key",
        "request_id",
        "client_request_id",
        "trace_id",
        "model",
        "tenant",
        "route",
        "cohort",
        "started_at",
    ),
    *("outcome", "input_tokens", "output_tokens", "cached_tokens", "attempts", "ttft", "ttft_source"),
    *(
        "ttft_uncertainty",
        "tpot",
        "e2e",
        "prefill_worker",
        "decode_worker",
        "met",
        "cause",
        "causes",
        "complete",
    ),
    *("censored", "exposed", "exposed_decode"),
}


def ids(answer: httpx.Response) -> list[str]:
    return [item["request_id"] for item in answer.json()["requests"]]


def test_a_request_has_the_contracts_shape(store: Store, client: httpx.Client) -> None:
    insert(store, a_request(0.123456789, name="r", ttft=1.932, exposed={"prefill_queue": 0.9}))
    (item,) = client.get("/api/v1/requests", params=WINDOW).json()["requests"]
    assert set(item) >= CONTRACT
    assert item["key"] == key_of("r").hex()
    assert item["started_at"] == "2026-03-02T12:00:00.123456789Z"
    assert (item["ttft"], item["tpot"], item["tenant"]) == (1.932, 0.01, None)
    assert list(item["exposed"]) == list(TTFT_PARTS)
    assert (item["exposed"]["prefill_queue"], item["exposed"]["unattributed"]) == (0.9, 1.032)
    assert item["met"] == {"ttft": True, "tpot": True, "joint": True}
    assert (item["cause"], item["causes"]) == ("none", {"none": 1.0})


def test_what_is_not_known_is_null(store: Store, client: httpx.Client) -> None:
    insert(store, a_request(1, outcome="", ttft=None, tpot=None, e2e=None, input_tokens=None, model=""))
    (item,) = client.get("/api/v1/requests", params=WINDOW).json()["requests"]
    for name in (
        "outcome",
        "ttft",
        "tpot",
        "e2e",
        "input_tokens",
        "model",
        "exposed",
        "cause",
        "ttft_source",
    ):
        assert item[name] is None, name
    assert item["met"] == {"ttft": None, "tpot": None, "joint": None}
    assert item["causes"] == {}


def test_newest_first_and_slowest_first(store: Store, client: httpx.Client) -> None:
    rows = [a_request(1, name="a", ttft=3), a_request(2, name="b", ttft=None), a_request(3, name="c", ttft=1)]
    insert(store, rows)
    assert ids(client.get("/api/v1/requests", params=WINDOW)) == ["c", "b", "a"]
    assert ids(client.get("/api/v1/requests", params={**WINDOW, "order": "slowest"})) == ["a", "c", "b"]


def test_filters(store: Store, client: httpx.Client) -> None:
    insert(
        store,
        [
            a_request(1, name="met"),
            a_request(2, name="slow", ttft=9),
            a_request(3, name="gone", outcome="cancelled"),
            a_request(4, name="broken", outcome="error"),
        ],
    )

    def found(**params: str) -> list[str]:
        return sorted(ids(client.get("/api/v1/requests", params={**WINDOW, **params})))

    assert found(missed="true") == ["broken", "slow"]
    assert found(missed="false") == ["met"]
    assert found(outcome="cancelled") == ["gone"]
    assert found(cause="none") == ["met"]
    assert found(cause="insufficient_evidence") == ["broken", "slow"]
    assert found(cause="overload") == []
    assert found(ttft="10", missed="true") == ["broken"]


def test_pages_hold_every_request_once_also_when_some_start_together(
    store: Store, client: httpx.Client
) -> None:
    insert(store, [a_request(number // 5, ttft=1 + number % 3) for number in range(57)])
    for order in ("newest", "slowest"):
        seen: list[str] = []
        params: dict[str, str | int] = {**WINDOW, "order": order, "limit": 10}
        for _ in range(6):
            body = client.get("/api/v1/requests", params=params).json()
            assert body["total"] == 57
            seen += [item["key"] for item in body["requests"]]
            params["cursor"] = body["next_cursor"]
        assert body["next_cursor"] is None
        assert (len(seen), len(set(seen))) == (57, 57)


def test_a_page_stays_in_place_while_requests_arrive(store: Store, client: httpx.Client) -> None:
    insert(store, [a_request(number, name=f"r{number}") for number in range(4)])
    first = client.get("/api/v1/requests", params={**WINDOW, "limit": 2}).json()
    insert(store, a_request(9, name="late"))
    second = client.get("/api/v1/requests", params={**WINDOW, "limit": 2, "cursor": first["next_cursor"]})
    assert ids(second) == ["r1", "r0"]


def test_a_cursor_of_another_making_is_refused(store: Store, client: httpx.Client) -> None:
    insert(store, [a_request(1), a_request(2)])
    cursor = client.get("/api/v1/requests", params={**WINDOW, "limit": 1}).json()["next_cursor"]
    for params in (
        {"cursor": cursor, "order": "slowest"},
        {"cursor": "xxxx"},
        {"cursor": "W10"},
        {"cursor": "é"},
    ):
        answer = client.get("/api/v1/requests", params={**WINDOW, **params})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_cursor")


def test_one_request_is_found_by_any_of_its_ids(store: Store, client: httpx.Client) -> None:
    insert(store, [a_request(1, name="r", client_request_id="mine/1"), a_request(2)])
    key = key_of("r").hex()
    for id_ in (key, key.upper(), key_of("trace r").hex(), "r", "mine%2F1"):
        answer = client.get(f"/api/v1/requests/{id_}")
        assert (answer.status_code, answer.json().get("key")) == (200, key), id_


def test_a_request_is_found_by_the_ids_of_its_legs(store: Store, client: httpx.Client) -> None:
    root, queue, compute = native(700, name="the-routers")
    bridge = replace(queue, attributes={**queue.attributes, "pd.request.id": "the-engines"})
    leg_alone = leg(compute, 2, "the-engines")
    store.insert_traces([body([root, bridge, leg_alone])])
    Assembler(store).catch_up()
    known = ("the-routers", "the-engines", root.trace_id.hex(), leg_alone.trace_id.hex())
    keys = {client.get(f"/api/v1/requests/{id_}").json()["key"] for id_ in known}
    assert len(keys) == 1


def test_another_tenant_in_a_legs_trace_hides_nothing(store: Store, client: httpx.Client) -> None:
    root, queue, compute = native(800, name="mine")
    mine = leg(compute, 2, "mine")
    store.insert_traces([body(of("acme", [root, queue, mine]))])
    Assembler(store).catch_up()
    theirs = replace(mine, span_id=b"another-", attributes={**mine.attributes, "pd.request.id": "theirs"})
    store.insert_traces([body(of("globex", [theirs]))])
    Assembler(store).catch_up()
    found = client.get(f"/api/v1/requests/{mine.trace_id.hex()}", params={"tenant": "acme"})
    assert (found.status_code, found.json().get("request_id")) == (200, "mine")


def test_several_requests_of_one_id_are_listed(store: Store, client: httpx.Client) -> None:
    insert(
        store, [a_request(1, name="a", client_request_id="x"), a_request(2, name="b", client_request_id="x")]
    )
    answer = client.get("/api/v1/requests/x")
    assert answer.status_code == 300
    assert ids(answer) == ["b", "a"]
    assert answer.json()["total"] == 2


@pytest.mark.parametrize("prefix", ["chatcmpl-", "cmpl-", "resp_", "msg_"])
def test_a_request_is_found_by_the_id_its_client_read_in_the_answer(
    store: Store, client: httpx.Client, prefix: str
) -> None:
    insert(store, [a_request(1, name="u-1"), a_request(2, name="chatcmpl-whole")])
    assert client.get(f"/api/v1/requests/{prefix}u-1").json()["request_id"] == "u-1"
    assert client.get("/api/v1/requests/chatcmpl-whole").json()["request_id"] == "chatcmpl-whole"
    assert client.get(f"/api/v1/requests/{prefix}u-2").status_code == 404


def test_no_request_of_that_id(store: Store, client: httpx.Client) -> None:
    insert(store, a_request(1, client_request_id=""))
    for id_ in ("nonesuch", "0" * 32, "%27%20OR%201=1"):
        answer = client.get(f"/api/v1/requests/{id_}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_request_shows_its_timeline_and_abstains(store: Store, make_client: MakeClient) -> None:
    queue = ("prefill_queue", [], NOON_NS + 10**9, NOON_NS + 3 * 10**9, "prefill-0", 1, "observed", "")
    both = (
        "",
        ["kv_transfer", "decode_queue"],
        NOON_NS + 3 * 10**9,
        NOON_NS + 4 * 10**9,
        "",
        1,
        "bounded",
        "why",
    )
    row = a_request(
        1,
        name="r",
        ttft=4,
        exposed={"prefill_queue": 2},
        own={"prefill_queue": 2},
        intervals=[both, queue],
        composites=[(["kv_transfer", "decode_queue"], 10**9, "why")],
        notes=["a note"],
    )
    insert(store, row)
    body = make_client(Objectives((Objective("fast", 1.0, 0.1),))).get("/api/v1/requests/r").json()
    assert [(item["phase"], item["covers"]) for item in body["intervals"]] == [
        ("prefill_queue", []),
        (None, ["kv_transfer", "decode_queue"]),
    ]
    assert body["intervals"][0] == {
        "phase": "prefill_queue",
        "covers": [],
        "worker": "prefill-0",
        "start": "2026-03-02T12:00:01.000000000Z",
        "end": "2026-03-02T12:00:03.000000000Z",
        "attempt": 1,
        "source": "observed",
        "reason": None,
    }
    assert body["composites"] == [
        {"covers": ["kv_transfer", "decode_queue"], "exposed": 1.0, "reason": "why"}
    ]
    assert (body["phases"]["prefill_queue"], body["first_token_at"]) == (
        2.0,
        "2026-03-02T12:00:05.000000000Z",
    )
    assert (body["joined_by"], body["notes"], body["clock_corrections"]) == (["trace_id"], ["a note"], [])
    verdict = body["verdict"]
    assert (verdict["cause"], verdict["evidence"]) == ("insufficient_evidence", [])
    missing = [item["signal"] for item in verdict["missing_telemetry"]]
    assert "kv_transfer" in missing
    assert "prefill_queue" not in missing


def test_a_request_that_met_has_nothing_missing_and_an_unevaluated_one_no_verdict(
    store: Store, client: httpx.Client
) -> None:
    insert(store, [a_request(1, name="met"), a_request(2, name="gone", outcome="cancelled")])
    verdict = client.get("/api/v1/requests/met").json()["verdict"]
    assert (verdict["cause"], verdict["missing_telemetry"]) == ("none", [])
    assert client.get("/api/v1/requests/gone").json()["verdict"] is None


def test_evidence_is_called_what_the_timeline_calls_it(store: Store, make_client: MakeClient) -> None:
    """One request's own page by its own intervals, the window's by the weakest of them."""

    def slow(name: str, at: float, source: str) -> dict[str, object]:
        since = NOON_NS + round(at * 1e9)
        compute = ("prefill_compute", [], since, since + 4 * 10**9, "prefill-0", 1, source, "")
        own = {"prefill_compute": 4.0}
        return a_request(
            at, name=name, ttft=4.0, input_tokens=40_000, exposed=own, own=own, intervals=[compute]
        )

    fast = [
        a_request(n, ttft=0.05, own={"prefill_compute": 0.05}, exposed={"prefill_compute": 0.05})
        for n in range(60)
    ]
    insert(store, [*fast, slow("seen", 3, "observed"), slow("worked-out", 4, "derived")])
    client = make_client(Objectives((Objective("fast", 1.0, 0.1),)))

    def sources(evidence: list[dict[str, object]]) -> set[object]:
        return {item["source"] for item in evidence if item["signal"] == "prefill_compute"}

    one = {name: client.get(f"/api/v1/requests/{name}").json() for name in ("seen", "worked-out")}
    assert {name: sources(body["verdict"]["evidence"]) for name, body in one.items()} == {
        "seen": {"observed"},
        "worked-out": {"derived"},
    }
    window = f"from={NOON_NS // 10**9}&to={NOON_NS // 10**9 + 300}"
    causes = client.get(f"/api/v1/diagnosis?{window}").json()["causes"]
    assert set().union(*(sources(cause["evidence"]) for cause in causes)) == {"derived"}
