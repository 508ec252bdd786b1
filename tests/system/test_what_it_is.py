"""The README's first sentences: what comes in, what is made of it, and what is said about it."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.system.day import HOURS_AGO, Day

EVER = {"from": 0, "to": 4000000000}
HAND_OFF = {"kv_publish", "kv_transfer", "kv_import"}


def missed(day: Day, incident: str) -> list[dict[str, Any]]:
    """The requests of an incident that missed its objective."""
    return day.requests(**day.incident(incident).asked, missed="true")


@pytest.mark.promise(
    "receives the telemetry of prefill/decode-disaggregated LLM serving (vLLM, NVIDIA Dynamo, or "
    "your own router)"
)
def test_telemetry_of_three_kinds_of_systems(day: Day) -> None:
    """/telemetry of a deployment that received recorded vLLM and Dynamo, and native routers"""
    systems = {found["system"]: found for found in day.get("/telemetry", **EVER)["systems"]}
    assert {"vllm", "dynamo", "native"} <= systems.keys()
    assert all(found["requests"] > 100 for found in systems.values())


@pytest.mark.promise("rebuilds each request's timeline across router, prefill, KV hand-off and decode")
def test_a_timeline_across_all_parts(day: Day) -> None:
    """the intervals of the slowest request of a simulated incident, by phase and worker"""
    slowest = day.get("/requests", **day.incident("slow-link").asked, order="slowest", limit=1)["requests"][0]
    intervals = day.get(f"/requests/{slowest['key']}")["intervals"]
    by_worker = {
        pool: {item["phase"] for item in intervals if (item["worker"] or "").startswith(pool)}
        for pool in ("router", "prefill", "decode")
    }
    assert "router_queue" in by_worker["router"]
    assert "prefill_compute" in by_worker["prefill"]
    assert "decode" in by_worker["decode"]
    assert {item["phase"] for item in intervals} >= HAND_OFF


@pytest.mark.promise("says which requests missed, in which phase their time went")
def test_who_missed_and_where_their_time_went(day: Day) -> None:
    """each missed request of an incident: its exposed times add up to its TTFT, to the nanosecond"""
    found = missed(day, "slow-link")
    counted = day.get("/diagnosis", **day.incident("slow-link").asked)["requests"]["missed"]
    assert len(found) == counted > 100
    for request in found:
        parts = sum(round(seconds * 1e9) for seconds in request["exposed"].values())
        assert parts == round(request["ttft"] * 1e9)
    slowest = max(found, key=lambda request: request["ttft"])["exposed"]
    assert max(slowest, key=slowest.__getitem__) == "kv_transfer"


@pytest.mark.promise("and what made them miss")
@pytest.mark.parametrize("name", [*HOURS_AGO, "chat-before", "chat-after"])
def test_what_made_requests_miss(day: Day, name: str) -> None:
    """the verdict of both analyzers on an incident whose cause was put in"""
    incident = day.incident(name)
    for analyzer in ("analyzer-1", "analyzer-2"):
        found = day.get("/diagnosis", analyzer, **incident.asked)
        assert found["dominant_cause"] == incident.cause
        assert found["requests"]["total"] == incident.requests


@pytest.mark.promise("and what made them miss")
def test_what_made_requests_miss_in_public_reports(day: Day) -> None:
    """cases of public reports, each replayed and judged by the replayer against its own truth"""
    assert len([line for line in day.cases if " dominant_cause: " in line]) == 3
    assert [line for line in day.cases if ": FAIL " in line] == []


@pytest.mark.promise(
    "A request's waterfall: which worker held it, and where its 2.7 s before the first token went"
)
def test_the_waterfall(day: Day, page: Page) -> None:
    """Chromium on the page of a request: its worker, its TTFT and the phase that took longest"""
    slowest = max(missed(day, "slow-link"), key=lambda request: request["ttft"])
    page.goto(f"{day.native.url('analyzer-2', 8080)}/?view=request&id={slowest['key']}")
    expect(page.locator(".waterfall")).to_be_visible()
    shown = page.locator("main")
    for text in (slowest["prefill_worker"], slowest["decode_worker"], f"{slowest['ttft']:.2f} s"):
        expect(shown).to_contain_text(text)
