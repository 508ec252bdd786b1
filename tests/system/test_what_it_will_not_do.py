"""What the README says that pdscope will not do."""

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.dashboards.programs import wait_for
from tests.docs.pages import links
from tests.docs.test_links import leads
from tests.docs.test_site import build as build_site
from tests.integration.running import pdscope
from tests.paths import PROJECT
from tests.receive.bodies import body
from tests.system.conftest import OpenPage
from tests.system.day import PATIENCE_S, TENANT, Day, bearer

SECRET = "the-patient-has-measles"
EVER = {"from": 0, "to": 4000000000}


@pytest.mark.promise("Guess. Time that is only known to lie within several phases is shown as such")
def test_time_within_several_phases(day: Day) -> None:
    """recorded vLLM without the connector: time within composites is unattributed, and told beside"""
    vllm = [
        one
        for one in day.requests()
        if one["system"] == "vllm" and (one["exposed"] or {}).get("unattributed")
    ]
    assert len(vllm) > 100
    composites = day.get(f"/requests/{vllm[0]['key']}")["composites"]
    assert composites
    assert all(len(item["covers"]) > 1 for item in composites)


@pytest.mark.promise("a missing signal is `null` with a reason")
def test_null_with_a_reason(day: Day) -> None:
    """figures per accelerator-hour where no worker says how many it has; KV use where no metric gives it"""
    found = day.get("/slo", **EVER)["objectives"][0]
    assert found["requests_per_gpu_hour"] is None
    assert "pd.gpus" in found["not_measured"]["requests_per_gpu_hour"]
    workers = [worker for pool in day.get("/pools", **EVER)["pools"] for worker in pool["workers"]]
    unknown = [
        worker["kv_used_fraction"] for worker in workers if worker["kv_used_fraction"]["value"] is None
    ]
    assert unknown
    assert all(value["reason"] for value in unknown)


@pytest.mark.promise(
    "Keep prompts, completions or end users' identities. They are dropped on the way in, and the "
    "drop is counted"
)
def test_prompts_are_not_kept(day: Day, tmp_path: Path) -> None:
    """a span with a prompt: nothing of it in the store, a journal or a log; the count grows"""

    def dropped() -> int:
        count: int = day.get("/telemetry", **EVER)["ingest"]["dropped"]["private_attributes"]
        return count

    def add_text(span: object) -> None:
        for key in ("gen_ai.prompt", "gen_ai.completion.0.content", "enduser.id"):
            span.attributes.add(key=key).value.string_value = SECRET  # type: ignore[attr-defined]

    before = dropped()
    url = f"{day.native.url('collector-1', 4318)}/v1/traces"
    headers = {**bearer(), "content-type": "application/x-protobuf"}
    httpx.post(url, content=body("with text", 1, add_text), headers=headers, timeout=60).raise_for_status()
    wait_for(lambda: dropped() >= before + 3, PATIENCE_S)
    wait_for(lambda: not holding(day.native.folder), PATIENCE_S, lambda: holding(day.native.folder))
    assert not any(SECRET in line for program in day.native.programs.values() for line in program.lines)


def holding(folder: Path) -> list[Path]:
    """Files that hold what nobody should keep."""
    found = []
    for path in folder.rglob("*"):
        try:
            if path.is_file() and SECRET.encode() in path.read_bytes():
                found.append(path)
        except FileNotFoundError:
            continue
    return found


@pytest.mark.promise("Listen on the network without a token")
def test_no_open_listener(day: Day, tmp_path: Path) -> None:
    """`pdscope serve` refuses to; a deployment with a token answers nobody without"""
    done = pdscope("serve", "--data", tmp_path / "data", "--otlp-grpc", "0.0.0.0:0")
    assert done.returncode == 2
    assert "without a token" in done.stderr
    for name in ("analyzer-1", "analyzer-2"):
        url = f"{day.native.url(name, 8080)}/api/v1/slo"
        assert httpx.get(url, timeout=60).status_code == 401
    for name in ("collector-1", "collector-2"):
        sent = httpx.post(f"{day.native.url(name, 4318)}/v1/traces", content=b"", timeout=60)
        assert sent.status_code == 401


@pytest.mark.promise(
    "or show one tenant, once it has [a token of its own](docs/security.md), another's requests"
)
def test_one_tenant(day: Day, open_page: OpenPage) -> None:
    """a tenant's token over REST and in Chromium: its requests alone, and what it may not ask is said"""
    asked = day.incident("slow-link").asked
    everyone = day.requests(**asked)
    own = day.requests(**asked, token=day.tenant_token)
    assert {request["tenant"] for request in own} == {TENANT}
    assert len(own) == sum(request["tenant"] == TENANT for request in everyone) < len(everyone)
    other = next(request["key"] for request in everyone if request["tenant"] != TENANT)
    url = f"{day.native.url('analyzer-2', 8080)}/api/v1"
    headers = bearer(day.tenant_token)
    assert httpx.get(f"{url}/requests/{other}", headers=headers, timeout=60).status_code == 404
    for path in ("/pools", "/telemetry"):
        assert httpx.get(url + path, headers=headers, timeout=60).status_code == 403
    page = open_page(day.tenant_token)
    window = f"from={asked['from']}&to={asked['to']}&model={asked['model']}"
    page.goto(f"{day.native.url('analyzer-2', 8080)}/?view=requests&{window}")
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("beta")
    page.goto(f"{day.native.url('analyzer-2', 8080)}/?view=pools&{window}")
    expect(page.locator("main")).to_contain_text("machines that tenants share")


@pytest.mark.promise("[Start](docs/index.md) · [Concepts](docs/concepts.md)")
def test_the_pages() -> None:
    """every link of the README leads somewhere"""
    page = PROJECT / "README.md"
    assert [link for link in links(page) if not leads(page, link)] == []


@pytest.mark.promise("`make site` builds these pages as a site")
def test_the_site(tmp_path: Path) -> None:
    """the site, built with every warning an error"""
    done = build_site(PROJECT / "mkdocs.yml", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "on-call/index.html").exists()
