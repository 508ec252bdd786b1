"""The overview, as somebody on call reads it."""

import json

from fastapi.responses import JSONResponse
from playwright.sync_api import Locator, Page, expect

from tests.web.recorded_api import RecordedApi, recorded, refusal
from tests.web.shapes import Json
from tests.web.steps import FIXED, settled


def objective() -> Json:
    found: Json = recorded("slo")["objectives"][0]
    return found


def panel(page: Page, name: str) -> Locator:
    return page.locator(f'[data-panel="{name}"]')


def test_the_tiles_say_what_the_slo_call_says(page: Page, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    requests = objective()["requests"]
    tiles = page.locator(".tile")
    expect(tiles.nth(0)).to_contain_text("76.3 %")
    expect(tiles.nth(0)).to_contain_text("under the target of 99 %")
    expect(tiles.nth(1)).to_contain_text(f"{requests['missed']} of {requests['evaluated']:,}")
    expect(tiles.nth(2)).to_contain_text("0.422/s")
    expect(tiles.nth(3)).to_contain_text("1h 24×")


def test_what_nobody_measured_is_a_dash_with_its_reason_and_never_zero(page: Page, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    goodput = page.locator(".tile").nth(2)
    expect(goodput).to_contain_text("in flight – (nothing reports requests in flight)")
    expect(goodput.locator(".missing").first).to_have_attribute("title", "nothing reports requests in flight")
    expect(page.locator(".burn")).to_contain_text("3d – (no evaluated request in this window)")


def test_the_headline_names_the_phase_in_which_most_misses_waited(page: Page, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    sums: dict[str, int] = {}
    for point in recorded("slo.timeseries")["points"]:
        for phase, missed in point["by_phase"].items():
            sums[phase] = sums.get(phase, 0) + missed
    phase = max(sums, key=lambda p: sums[p])
    expect(page.locator(".headline")).to_contain_text(f"for {sums[phase]} the longest part of the wait was")
    expect(page.locator(".headline")).to_contain_text(phase.replace("_", " "))


def test_the_diagnosis_is_the_headline_where_there_is_one(page: Page, api: RecordedApi, address: str) -> None:
    api.later = True
    page.goto(f"{address}/?{FIXED}")
    expect(page.locator(".headline")).to_contain_text("1,301 waited for prefill")
    expect(page.locator(".headline")).to_contain_text("not settled")


def test_every_chart_gives_its_numbers_as_a_table(page: Page, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    misses = panel(page, "misses")
    misses.get_by_text("Numbers").click()
    points = recorded("slo.timeseries")["points"]
    expect(misses.locator("tbody tr")).to_have_count(len(points))
    worst = max(points, key=lambda p: p["by_phase"].get("prefill_queue", 0))
    row = misses.locator("tbody tr", has_text=worst["t"][11:19])
    expect(row).to_contain_text(str(worst["by_phase"]["prefill_queue"]))


def test_charts_are_drawn_on_canvases_of_the_panels_width(page: Page, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    expect(page.locator("canvas")).to_have_count(3)
    for chart in page.locator(".plot").all():
        box = chart.locator("canvas").bounding_box()
        around = chart.bounding_box()
        assert box is not None
        assert around is not None
        assert abs(box["width"] - around["width"]) < 2


def test_without_a_cursor_a_legend_reads_the_last_interval_that_is_over(page: Page, address: str) -> None:
    """Of the minute that the window cuts in two, a rate would say half."""
    page.goto(f"{address}/?from=1795917600&to=1795921170")
    goodput = panel(page, "goodput")
    points = recorded("slo.timeseries")["points"]
    assert points[-1]["t"].startswith("2026-11-29T02:59:00")
    expect(goodput.locator(".when")).to_have_text("02:58:00")
    expect(goodput.locator(".legend")).to_contain_text(f"started {points[-2]['requests'] / 60:.3g}/s")
    expect(panel(page, "attainment").locator(".when")).to_have_text("02:58:00")
    goodput.get_by_text("Numbers").click()
    expect(goodput.locator("tbody tr")).to_have_count(len(points) - 1)


def test_arrow_keys_read_a_chart_point_by_point(page: Page, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    plot = panel(page, "attainment").locator(".plot")
    plot.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(panel(page, "attainment").locator(".when")).to_have_text("02:01:00")
    page.keyboard.press("End")
    expect(panel(page, "attainment").locator(".when")).to_have_text("02:59:00")


def test_dragging_over_a_chart_looks_at_that_time_everywhere(
    page: Page, api: RecordedApi, address: str
) -> None:
    page.goto(f"{address}/?{FIXED}")
    area = panel(page, "misses").locator(".u-over")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60, steps=5)
    api.asked.clear()
    page.mouse.up()
    expect(page).not_to_have_url(f"{address}/?{FIXED}")
    settled(page)
    window = api.queries("slo")[-1]
    assert 1795917600 + 800 < int(window["from"]) < 1795917600 + 1000
    assert 1795917600 + 1650 < int(window["to"]) < 1795917600 + 1950
    page.go_back()
    expect(page).to_have_url(f"{address}/?{FIXED}")


def test_percentiles_stand_in_a_row_per_prompt_length(page: Page, address: str) -> None:
    page.goto(f"{address}/?{FIXED}")
    rows = panel(page, "ttft").locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.nth(2)).to_contain_text("4-16K")
    assert rows.nth(2).locator("svg .dot").count() == 4


def test_prompt_lengths_are_in_order_whatever_the_order_of_the_answer(
    page: Page, api: RecordedApi, address: str
) -> None:
    answer = recorded("latency.ttft.input_bucket")
    nameless = {**answer["rows"][0], "key": None}
    answer["rows"] = [nameless, *answer["rows"][::-1]]
    api.replaced["latency"] = JSONResponse(answer)
    page.goto(f"{address}/?{FIXED}")
    expect(panel(page, "ttft").locator("tbody th")).to_have_text(
        ["0-1K", "1-4K", "4-16K", "16K+", "not known"]
    )


def test_misses_of_tpot_alone_and_without_timeline_are_counted_too(
    page: Page, api: RecordedApi, address: str
) -> None:
    answer = recorded("slo.timeseries")
    for point in answer["points"]:
        point["by_phase"] = {}
    answer["points"][5]["by_phase"] = {"decode": 3, "unknown": 2}
    api.replaced["slo/timeseries"] = JSONResponse(answer)
    page.goto(f"{address}/?{FIXED}")
    expect(panel(page, "misses").locator(".legend")).to_contain_text("decode 3")
    expect(panel(page, "misses").locator(".legend")).to_contain_text("unknown 2")
    expect(page.locator(".headline")).to_contain_text("3: TTFT was met, TPOT was not")


def test_the_reason_that_rest_gives_for_a_missing_figure_is_shown(
    page: Page, api: RecordedApi, address: str
) -> None:
    answer = objective()
    answer["not_measured"] = {"requests_per_gpu_hour": "worker decode-1 does not say pd.gpus"}
    api.replaced["slo"] = JSONResponse({"objectives": [answer]})
    page.goto(f"{address}/?{FIXED}")
    expect(page.locator(".tile").nth(2)).to_contain_text("– (worker decode-1 does not say pd.gpus)")


def test_a_slow_request_is_two_keys_away(page: Page, api: RecordedApi, address: str) -> None:
    api.replaced[f"requests/{recorded('requests.slowest')['requests'][0]['key']}"] = JSONResponse(
        recorded("request.slow")
    )
    page.goto(f"{address}/?{FIXED}")
    expect(panel(page, "slowest").locator("tbody tr")).to_have_count(10)
    page.locator("main").press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".waterfall")).to_be_visible()


def test_several_objectives_are_listed_and_the_tiles_follow_the_chosen_one(
    page: Page, api: RecordedApi, address: str
) -> None:
    calm = json.loads(json.dumps(objective()))
    calm.update(name="batch", budget_left=0.8, target=0.5)
    api.replaced["slo"] = JSONResponse({"objectives": [calm, objective()]})
    page.goto(f"{address}/?{FIXED}")
    expect(page.locator(".objective-line")).to_contain_text("interactive")
    panel(page, "objectives").get_by_role("link", name="batch").click()
    expect(page.locator(".objective-line")).to_contain_text("batch")
    expect(page.locator(".tile").nth(0)).to_contain_text("✓ target 50 %")


def test_an_empty_window_says_how_to_fill_it(page: Page, api: RecordedApi, address: str) -> None:
    nothing = json.loads(json.dumps(objective()))
    nothing["requests"] = dict.fromkeys(nothing["requests"], 0)
    nothing["attainment"] = {"ttft": None, "tpot": None, "joint": None}
    api.replaced["slo"] = JSONResponse({"objectives": [nothing]})
    api.empty = True
    page.goto(f"{address}/")
    expect(page.locator("main")).to_contain_text("No requests in this window.")
    expect(page.locator("main")).to_contain_text("pdscope import")


def test_one_part_that_fails_leaves_the_others_standing(page: Page, api: RecordedApi, address: str) -> None:
    api.replaced["latency"] = refusal(500, "internal", "the store said no")
    page.goto(f"{address}/?{FIXED}")
    expect(panel(page, "ttft")).to_contain_text("HTTP 500: the store said no")
    expect(page.locator(".tile").nth(0)).to_contain_text("76.3 %")
