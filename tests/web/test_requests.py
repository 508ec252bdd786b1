"""The list of requests and the page of one."""

import json
from datetime import datetime

from fastapi.responses import JSONResponse
from playwright.sync_api import Page, expect

from collector.phases import TTFT_PARTS
from tests.web.recorded_api import RecordedApi, recorded
from tests.web.steps import FIXED, settled


def test_filters_of_the_list_go_to_rest_and_into_the_address(
    page: Page, api: RecordedApi, address: str
) -> None:
    page.goto(f"{address}/?view=requests&{FIXED}")
    page.get_by_label("missed").select_option("true")
    page.get_by_label("order").select_option("slowest")
    page.get_by_label("outcome").select_option("ok")
    expect(page.locator("tbody tr").first).to_contain_text("8.93 s")
    settled(page)
    asked = api.queries("requests")[-1]
    assert (asked["missed"], asked["order"], asked["outcome"], asked["limit"]) == (
        "true",
        "slowest",
        "ok",
        "50",
    )
    assert {"missed=true", "order=slowest", "outcome=ok"} <= set(page.url.split("?")[1].split("&"))


def test_more_requests_can_be_asked_for(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=requests&{FIXED}")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("button", name="More").click()
    expect(page.locator("tbody tr")).to_have_count(100)


def test_j_and_k_move_through_the_rows_and_enter_opens_one(
    page: Page, api: RecordedApi, address: str
) -> None:
    second = recorded("requests.newest")["requests"][1]
    api.replaced[f"requests/{second['key']}"] = JSONResponse(recorded("request.slow"))
    page.goto(f"{address}/?view=requests&{FIXED}")
    expect(page.locator("tbody tr")).to_have_count(50)
    for key in "jjjk":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator(".waterfall")).to_be_visible()
    assert f"id={second['key']}" in page.url
    page.keyboard.press("u")
    expect(page.locator("tbody tr")).to_have_count(50)


def test_the_waterfall_has_a_lane_per_worker_and_a_bar_per_interval(page: Page, address: str) -> None:
    request = recorded("request.slow")
    page.goto(f"{address}/?view=request&id=slow&zoom=all")
    lanes = page.locator(".lane:not(.strip)")
    workers = {i["worker"] for i in request["intervals"]}
    expect(lanes).to_have_count(len(workers))
    expect(lanes.locator(".bar")).to_have_count(len(request["intervals"]))


def test_bars_lie_where_the_intervals_lie(page: Page, address: str) -> None:
    request = recorded("request.slow")
    page.goto(f"{address}/?view=request&id=slow")
    compute = next(i for i in request["intervals"] if i["phase"] == "prefill_compute")

    def since_start(at: str) -> float:
        start = request["started_at"]
        whole = datetime.fromisoformat(at[:19]) - datetime.fromisoformat(start[:19])
        return whole.total_seconds() + float(f"0.{at[20:29]}") - float(f"0.{start[20:29]}")

    span = request["ttft"] * 1.04
    bar = page.locator(".lane:not(.strip)").get_by_role("button", name="prefill compute;").bounding_box()
    track = page.locator(".lane:not(.strip) .track").first.bounding_box()
    assert bar is not None
    assert track is not None
    left = track["x"] + track["width"] * since_start(compute["start"]) / span
    right = track["x"] + track["width"] * since_start(compute["end"]) / span
    assert abs(bar["x"] - left) < 1.5
    assert abs(bar["x"] + bar["width"] - right) < 1.5


def test_hidden_transfer_is_pale_and_its_exposed_tail_is_solid(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=request&id=slow")
    bar = page.locator(".lane:not(.strip)").get_by_role("button", name="kv transfer;")
    whole, solid = bar.bounding_box(), bar.locator(".exposed").bounding_box()
    exposed = recorded("request.slow")["exposed"]["kv_transfer"]
    assert whole is not None
    assert solid is not None
    assert 0 < solid["width"] < whole["width"] * 0.6
    assert abs(solid["x"] + solid["width"] - whole["x"] - whole["width"]) < 1.5
    assert f"{exposed * 1000:.0f} ms exposed" in (bar.get_attribute("aria-label") or "")


def test_the_phase_table_gives_rests_amounts_in_pipeline_order(page: Page, address: str) -> None:
    request = recorded("request.slow")
    page.goto(f"{address}/?view=request&id=slow")
    rows = page.locator('[data-panel="phases"] tbody tr')
    expect(rows).to_have_count(len(TTFT_PARTS))
    names = [name.strip() for name in rows.locator("th").all_inner_texts()]
    assert names == [part.replace("_", " ") for part in TTFT_PARTS]
    compute = rows.nth(TTFT_PARTS.index("prefill_compute"))
    expect(compute).to_contain_text(f"{request['exposed']['prefill_compute']:.2f} s")
    expect(compute).to_contain_text("observed")


def test_time_within_several_phases_is_hatched_named_and_never_given_to_one(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=request&id=composite")
    name = "within kv transfer, decode queue, kv import"
    reason = "handle_payload holds the wait for KV and the queue; no span splits them"
    words = page.locator(".strip .bar.composite").get_attribute("aria-label")
    assert words == f"{name} 545 ms exposed; 316 ms to 861 ms; {reason}"
    expect(page.locator(".gaps")).to_contain_text(f"545 ms from 316 ms to 861 ms: {name}")
    rows = page.locator('[data-panel="phases"] tbody tr')
    expect(rows.nth(TTFT_PARTS.index("kv_transfer"))).to_contain_text("– (no span of this phase was seen)")
    expect(rows.last).to_contain_text("545 ms")
    expect(rows.last).to_contain_text("bounded")


def test_derived_intervals_are_told_from_observed_ones(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=request&id=composite")
    row = page.locator('[data-panel="phases"] tbody tr').nth(TTFT_PARTS.index("prefill_queue"))
    expect(row).to_contain_text("derived")
    expect(page.locator(".lane .bar.derived")).to_have_count(2)


def test_time_lost_to_a_dead_worker_is_retry(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=request&id=retried")
    strip = page.locator(".strip")
    expect(strip.get_by_role("button", name="retry")).to_have_attribute(
        "aria-label", "retry 1.80 s exposed; 2.00 ms to 1.80 s; lost to attempts that were superseded"
    )
    expect(page.locator(".lane", has_text="prefill-2")).to_contain_text("attempt 1")


def test_a_request_without_first_token_is_at_least_as_slow_as_it_is_old(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=request&id=censored")
    expect(page.locator(".tile").nth(0)).to_contain_text("≥ 30.0 s")
    expect(page.locator(".tile").nth(0)).to_contain_text("no first token was seen")
    expect(page.locator(".waterfall .token")).to_have_count(0)
    expect(page.locator(".legend").first).to_contain_text("first token not seen")


def test_a_request_without_spans_of_phases_says_so(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=request&id=bare")
    expect(page.locator('[data-panel="waterfall"]')).to_contain_text("No interval is known")
    expect(page.locator('[data-panel="identity"]')).to_contain_text("its spans needed no joining")


def test_first_and_last_token_are_marked(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=request&id=retried&zoom=all")
    expect(page.locator(".waterfall .token.first")).to_have_count(1)
    expect(page.locator(".waterfall .token.last")).to_have_count(1)
    page.keyboard.press("z")
    expect(page.locator(".waterfall .token.last")).to_have_count(0)
    assert "zoom" not in page.url


def test_a_verdict_that_names_a_cause_comes_first_with_its_evidence(
    page: Page, api: RecordedApi, address: str
) -> None:
    request = recorded("request.slow")
    evidence = [{"signal": "prefill.queue_depth", "value": 92, "unit": "requests", "source": "observed"}]
    request["cause"] = "pool_imbalance.prefill_starved"
    request["verdict"] = {
        "cause": request["cause"],
        "confidence": 0.9,
        "evidence": evidence,
        "counterfactual": {"ttft": 1.2},
        "next_step": "Add a prefill worker.",
    }
    api.replaced["requests/slow"] = JSONResponse(request)
    page.goto(f"{address}/?view=request&id=slow")
    verdict = page.locator('[data-panel="verdict"]')
    expect(verdict).to_contain_text("pool_imbalance.prefill_starved · confidence 90 %")
    expect(verdict).to_contain_text("prefill.queue_depth 92 requests observed")
    expect(verdict).to_contain_text("Next: Add a prefill worker.")
    assert page.locator("[data-panel]").first.get_attribute("data-panel") == "verdict"


def test_amounts_that_do_not_fit_the_intervals_are_not_drawn_over_them(
    page: Page, api: RecordedApi, address: str
) -> None:
    request = recorded("request.slow")
    request["exposed"]["prefill_queue"] += 0.25
    api.replaced["requests/slow"] = JSONResponse(request)
    page.goto(f"{address}/?view=request&id=slow")
    expect(page.locator(".note.warn")).to_contain_text("Exposed time is not shaded here")
    expect(page.locator(".waterfall .exposed")).to_have_count(0)


def test_an_id_that_several_requests_bear_offers_them(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=request&id=shared-id")
    expect(page.locator("main")).to_contain_text("Several requests bear this id")
    page.locator("tbody a").first.click()
    expect(page.locator(".waterfall")).to_be_visible()


def test_an_unknown_id_is_answered_with_the_reason(page: Page, address: str) -> None:
    page.goto(f"{address}/")
    page.get_by_role("searchbox").fill("nobody")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("no request bears the id 'nobody'")


def test_what_a_span_says_never_becomes_markup(page: Page, api: RecordedApi, address: str) -> None:
    request = json.loads(json.dumps(recorded("request.slow")))
    attack = "<img src=x onerror=\"document.title='owned'\">"
    request["request_id"] = request["model"] = attack
    for interval in request["intervals"]:
        interval["worker"] = attack
    api.replaced["requests/slow"] = JSONResponse(request)
    page.goto(f"{address}/?view=request&id=slow")
    expect(page.locator(".request-head")).to_contain_text(attack)
    assert page.locator("img").count() == 0
    assert page.title() == "Request · pdscope"
