"""What a token lets its holder see and do over REST."""

import json
import stat
from pathlib import Path

import httpx
import pytest

from analyzer.api.audit import AuditLog
from analyzer.api.readers import API, OF_ONE_TENANT
from analyzer.slo.objectives import DEFAULT, Objective, Objectives, Selector
from collector.settings import Settings
from collector.store.store import Store
from collector.tokens import Grant, Right, digest_of
from tests.api.conftest import MakeClient
from tests.api.rows import NOON_NS, a_request, insert

GRANTS = (
    Grant(digest_of(b"acme-read"), Right.READ, "acme"),
    Grant(digest_of(b"globex-read"), Right.READ, "globex"),
    Grant(digest_of(b"acme-send"), Right.INGEST, "acme"),
    Grant(digest_of(b"all-read"), Right.READ),
    Grant(digest_of(b"root"), Right.ADMIN),
)
WINDOW = f"from={NOON_NS // 10**9}&to={NOON_NS // 10**9 + 3600}"
OWN = [call for call in OF_ONE_TENANT if call not in ("/openapi.json",)]


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def guarded(store: Store, make_client: MakeClient) -> httpx.Client:
    rows = [
        a_request(name="acme-1", tenant="acme", ttft=0.2),
        a_request(name="acme-2", tenant="acme", ttft=9.0),
        a_request(name="globex-1", tenant="globex", ttft=9.0),
        a_request(name="nobodys", tenant="", ttft=0.1),
    ]
    insert(store, rows)
    return make_client(grants=GRANTS)


def test_a_tenants_figures_are_of_its_own_requests(guarded: httpx.Client) -> None:
    def evaluated(token: str, more: str = "") -> int:
        answer = guarded.get(f"{API}/diagnosis?{WINDOW}{more}", headers=bearer(token))
        assert answer.status_code == 200, answer.text
        return int(answer.json()["requests"]["total"])

    assert evaluated("acme-read") == evaluated("acme-read", "&tenant=acme") == 2
    assert evaluated("globex-read") == 1
    assert evaluated("all-read") == evaluated("root") == 4
    assert evaluated("all-read", "&tenant=globex") == 1


@pytest.mark.parametrize("token", ["acme-read", "all-read"])
def test_how_many_were_under_way_is_counted_of_the_tenants_own(
    guarded: httpx.Client, store: Store, token: str
) -> None:
    insert(store, [a_request(at=100 + n / 10, tenant="globex", e2e=60.0) for n in range(20)])
    insert(store, [a_request(at=105 + n, name=f"busy-{n}", tenant="acme", e2e=60.0) for n in range(2)])
    own = {"tenant": "acme", "from": NOON_NS // 10**9 + 90, "to": NOON_NS // 10**9 + 3600}
    traffic = guarded.get(f"{API}/workload", params=own, headers=bearer(token)).json()
    assert traffic["groups"][0]["concurrency"]["max"] == 2
    by = {**own, "by": "concurrency", "ttft": 0.1}
    groups = guarded.get(f"{API}/attribution", params=by, headers=bearer(token)).json()["groups"]
    assert {group["key"] for group in groups} == {"1-7"}


def test_a_tenant_lists_and_opens_its_own_requests_alone(guarded: httpx.Client) -> None:
    listed = guarded.get(f"{API}/requests?{WINDOW}", headers=bearer("acme-read")).json()
    assert {row["request_id"] for row in listed["requests"]} == {"acme-1", "acme-2"}
    assert listed["total"] == 2
    assert guarded.get(f"{API}/requests/acme-1", headers=bearer("acme-read")).status_code == 200
    others = guarded.get(f"{API}/requests/globex-1", headers=bearer("acme-read"))
    nobodys = guarded.get(f"{API}/requests/no-such", headers=bearer("acme-read"))
    assert others.status_code == nobodys.status_code == 404
    # a request that is another's is refused in the words of one that does not exist
    assert (
        others.json()["error"]["message"].replace("globex-1", "no-such") == nobodys.json()["error"]["message"]
    )
    assert guarded.get(f"{API}/requests/globex-1", headers=bearer("all-read")).status_code == 200


@pytest.mark.parametrize("call", OWN)
def test_no_call_a_tenant_may_make_names_another(guarded: httpx.Client, call: str) -> None:
    asked = f"{API}{call}?{WINDOW}" + ("&baseline=a&candidate=b" if call == "/compare" else "")
    answer = guarded.get(asked, headers=bearer("acme-read"))
    # two sides without a request of the tenant cannot be compared
    assert answer.status_code == (409 if call == "/compare" else 200), answer.text
    assert "globex" not in answer.text
    refused = guarded.get(f"{asked}&tenant=globex", headers=bearer("acme-read"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize("call", [*OWN, "/slo/report?format=csv", "/slo/report?format=html"])
def test_what_was_promised_to_others_is_not_shown(store: Store, make_client: MakeClient, call: str) -> None:
    insert(store, [a_request(name="acme-1", tenant="acme", ttft=9.0)])
    items = [
        Objective(f"for-{name}", 0.5, 0.02, selector=Selector(tenant=name)) for name in ("globex", "acme")
    ]
    client = make_client(Objectives((*items, DEFAULT)), grants=GRANTS)
    address = f"{API}{call}{'&' if '?' in call else '?'}{WINDOW}"
    assert "globex" not in client.get(address, headers=bearer("acme-read")).text
    if call == "/slo":
        named = [
            item["name"] for item in client.get(address, headers=bearer("acme-read")).json()["objectives"]
        ]
        assert named == ["for-acme", "default"]
        assert "for-globex" in client.get(address, headers=bearer("all-read")).text


@pytest.mark.parametrize(
    "path", [f"{API}/attribution?{WINDOW}&by=tenant", f"{API}/latency?{WINDOW}&by=tenant"]
)
def test_grouping_by_tenant_shows_a_tenant_itself(guarded: httpx.Client, path: str) -> None:
    answer = guarded.get(path, headers=bearer("acme-read"))
    assert answer.status_code == 200
    assert "acme" in answer.text
    assert "globex" not in answer.text


@pytest.mark.parametrize(
    "path",
    ["/metrics", f"{API}/telemetry", f"{API}/pools", f"{API}/transfers", f"{API}/kv/orphans", "/nonesuch"],
)
def test_what_is_about_shared_machines_is_not_for_a_tenant(guarded: httpx.Client, path: str) -> None:
    refused = guarded.get(path, headers=bearer("acme-read"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert guarded.get(path, headers=bearer("all-read")).status_code in (200, 404)


def test_only_an_admin_imports(guarded: httpx.Client) -> None:
    for token in ("acme-read", "all-read", "acme-send"):
        assert guarded.post(f"{API}/import", content=b"x", headers=bearer(token)).status_code == 403
    # admitted; then this process takes none
    assert guarded.post(f"{API}/import", content=b"x", headers=bearer("root")).status_code == 503


def test_a_token_to_send_with_does_not_read(guarded: httpx.Client) -> None:
    refused = guarded.get(f"{API}/slo", headers=bearer("acme-send"))
    assert refused.status_code == 403
    assert "right `read`" in refused.json()["error"]["message"]
    assert guarded.get(f"{API}/slo").status_code == 401
    assert guarded.get("/healthz").status_code == 200


def test_a_token_may_not_call_more_often_than_allowed(make_client: MakeClient) -> None:
    client = make_client(grants=GRANTS, settings=Settings(api_calls_per_s=2))
    answers = [client.get(f"{API}/openapi.json", headers=bearer("acme-read")) for _ in range(40)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) >= 20
    assert refused[0].headers["retry-after"] == "1"
    assert refused[0].json()["error"]["code"] == "too_many_requests"
    assert client.get(f"{API}/openapi.json", headers=bearer("globex-read")).status_code == 200


def test_changes_and_refusals_are_on_record_without_any_token(
    tmp_path: Path, make_client: MakeClient
) -> None:
    log = tmp_path / "audit.log"
    client = make_client(grants=GRANTS, audit=AuditLog(log))
    client.post(f"{API}/import?name=run", content=b"x", headers=bearer("root"))
    client.post(f"{API}/import", content=b"x", headers=bearer("acme-read"))
    client.get(f"{API}/slo", headers=bearer("wrong-secret"))
    client.get(f"{API}/slo?tenant=globex", headers=bearer("acme-read"))
    client.get(f"{API}/slo", headers=bearer("acme-read"))
    text = log.read_text()
    found = [json.loads(line) for line in text.splitlines()]
    assert [(entry["method"], entry["path"], entry["status"]) for entry in found] == [
        ("POST", f"{API}/import", 503),
        ("POST", f"{API}/import", 403),
        ("GET", f"{API}/slo", 401),
        ("GET", f"{API}/slo", 403),
    ]
    assert [entry["caller"].rsplit(":", 1)[0] for entry in found] == [
        "*:admin",
        "acme:read",
        "-",
        "acme:read",
    ]
    assert all(secret not in text for secret in ("root", "acme-read", "wrong-secret"))
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_flood_of_refusals_does_not_fill_the_disk(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.log")
    for _ in range(500):
        log.record("-", "10.0.0.9", "GET", "/x", 401)
    assert len((tmp_path / "audit.log").read_text().splitlines()) <= 40


def test_a_log_that_cannot_be_written_does_not_change_the_answer(
    tmp_path: Path, make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "taken").write_text("a file where the directory should be")
    client = make_client(grants=GRANTS, audit=AuditLog(tmp_path / "taken" / "audit.log"))
    refused = client.get(f"{API}/slo", headers=bearer("wrong-secret"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized")
    assert "cannot be written" in caplog.text
    assert "wrong-secret" not in caplog.text
