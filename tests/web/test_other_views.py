"""The tabs that a pdscope may not answer yet: honest when it doesn't, right when it does."""

import pytest
from fastapi.responses import JSONResponse
from playwright.sync_api import Page, expect

from tests.web.recorded_api import RecordedApi
from tests.web.steps import FIXED, settled

CALLS = {
    "why": "diagnosis",
    "pools": "pools",
    "transfers": "transfers",
    "orphans": "kv/orphans",
    "telemetry": "telemetry",
}


@pytest.mark.parametrize(("view", "call"), CALLS.items())
def test_a_view_without_an_answer_says_so_and_shows_no_number(
    page: Page, api: RecordedApi, address: str, view: str, call: str
) -> None:
    page.goto(f"{address}/?view={view}&{FIXED}")
    expect(page.locator("main")).to_contain_text(f"this pdscope does not answer /{call} yet (HTTP 501)")
    expect(page.locator("main table")).to_have_count(0)
    assert api.queries(call)[0]["from"] == "1795917600"


def test_why_gives_causes_with_what_would_have_met_without_them(
    page: Page, api: RecordedApi, address: str
) -> None:
    api.later = True
    page.goto(f"{address}/?view=why&{FIXED}")
    cause = page.locator("article.cause").first
    expect(cause).to_contain_text("prefill pool lacks capacity for offered prompt work")
    expect(cause).to_contain_text("1,301 missed requests; without it 1,288 would have met.")
    expect(cause).to_contain_text("TTFT above its baseline: p50 8.54 s, p95 20.3 s")
    expect(cause).to_contain_text("3P+1D would have met 99.6% (modelled)")
    expect(page.locator("article.cause").nth(1)).to_contain_text("without it – (no counterfactual)")
    expect(page.locator(".verdict")).to_contain_text("Not settled")


def test_a_cause_leads_to_its_requests(page: Page, api: RecordedApi, address: str) -> None:
    api.later = True
    page.goto(f"{address}/?view=why&{FIXED}")
    page.get_by_role("link", name="pool_imbalance.prefill_starved").click()
    expect(page.locator("tbody tr")).to_have_count(50)
    assert api.queries("requests")[-1]["cause"] == "pool_imbalance.prefill_starved"


def test_pools_tell_a_full_cache_from_an_unknown_one(page: Page, api: RecordedApi, address: str) -> None:
    api.later = True
    page.goto(f"{address}/?view=pools&{FIXED}")
    prefill = page.locator('[data-panel="pool-prefill"] tbody tr').first
    expect(prefill).to_contain_text("94 %")
    expect(prefill).to_contain_text("✗ saturated derived")
    unknown = page.locator('[data-panel="pool-decode"] tbody tr').nth(1)
    expect(unknown).not_to_contain_text("0")
    expect(unknown.locator("td .missing").first).to_have_attribute(
        "title", "no metric of this worker says so"
    )


def test_transfers_can_be_grouped(page: Page, api: RecordedApi, address: str) -> None:
    api.later = True
    page.goto(f"{address}/?view=transfers&{FIXED}")
    expect(page.locator("tbody tr").first).to_contain_text("431 GB")
    expect(page.locator("tbody tr").first).to_contain_text("9.8 GB/s")
    page.locator("[data-keep=by]").select_option("connector")
    page.wait_for_url("**by=connector**")
    settled(page)
    assert [q["by"] for q in api.queries("transfers")] == ["pair", "connector"]


def test_orphans_lead_to_their_request(page: Page, api: RecordedApi, address: str) -> None:
    api.later = True
    page.goto(f"{address}/?view=orphans&{FIXED}")
    row = page.locator('[data-panel="orphans"] tbody tr')
    expect(row).to_contain_text("537 MB")
    expect(page.locator('[data-panel="late-reads"]')).to_contain_text("No KV was read after its lease.")
    assert "view=request&id=8f14e45fceea167a5a36dedd4bea2543" in (
        row.locator("a").get_attribute("href") or ""
    )


def test_telemetry_shows_all_that_is_answered(page: Page, api: RecordedApi, address: str) -> None:
    api.later = True
    page.goto(f"{address}/?view=telemetry&{FIXED}")
    expect(page.locator('[data-panel="telemetry-ingest"]')).to_contain_text("184,512")
    workers = page.locator('[data-panel="telemetry-workers"] tbody tr')
    expect(workers).to_have_count(2)
    expect(workers.nth(1)).to_contain_text("– (not measured)")


def test_checks_of_telemetry_say_what_mends_them_and_fold_what_is_minor(
    page: Page, api: RecordedApi, address: str
) -> None:
    def answered(name: str, severity: str) -> dict[str, str | None]:
        says = f"no {name} arrives"
        return {
            "check": "missing_signal", "kind": "missing", "severity": severity, "system": "vllm",
            "subject": "decode", "says": says, "matters": "why it matters", "fix": f"bring {name}",
        }  # fmt: skip

    checked = [answered("gauge", "warning"), answered("trifle", "info")]
    api.replaced["telemetry"] = JSONResponse({"checks": checked})
    page.goto(f"{address}/?view=telemetry&{FIXED}")
    checks = page.locator('[data-panel="telemetry-checks"]')
    expect(checks.get_by_text("bring gauge")).to_be_visible()
    expect(checks.get_by_text("bring trifle")).to_be_hidden()
    checks.get_by_text("1 more is merely worth knowing").click()
    expect(checks.get_by_text("bring trifle")).to_be_visible()
