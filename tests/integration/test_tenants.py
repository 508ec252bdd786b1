"""Two tenants send one request id and one trace id: each sees its own; whoever sees all is told of both."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from collector.tokens import digest_of
from tests.assemble.otlp import body
from tests.assemble.test_arrival import native
from tests.integration.running import ALL, Server, serving

ROOT = "the-operator"


def secret(name: str) -> str:
    return f"sha256:{digest_of(name.encode()).hex()}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    tokens = tmp_path / "tokens.yaml"
    lines = [
        f'{tenant}: {{ingest: "{secret(tenant + "-send")}", read: "{secret(tenant + "-read")}"}}'
        for tenant in ("acme", "globex")
    ]
    tokens.write_text("\n".join([*lines, f'"*": {{admin: "{secret(ROOT)}"}}']))
    with serving(tmp_path / "data", "--tenant-tokens", str(tokens)) as running:
        yield running


def asked(server: Server, token: str, path: str, **params: str) -> httpx.Response:
    given = {"authorization": f"Bearer {token}"}
    return httpx.get(f"{server.api}/api/v1{path}", params=params, headers=given, timeout=60)


def sent(server: Server, token: str, spans: list) -> None:
    given = {"authorization": f"Bearer {token}", "content-type": "application/x-protobuf"}
    answer = httpx.post(f"{server.otlp_http}/v1/traces", content=body(spans), headers=given, timeout=60)
    assert answer.status_code == 200, answer.text


def test_each_opens_its_own_by_an_id_that_both_used(server: Server) -> None:
    spans = native(7, name="chat-1")
    trace = spans[0].trace_id.hex()
    sent(server, "acme-send", spans[:2])
    sent(server, "globex-send", spans)
    sent(server, "acme-send", spans[2:])
    wait_for(server, {"acme": 3, "globex": 3})

    keys = {}
    for tenant in ("acme", "globex"):
        for name in ("chat-1", trace):
            answer = asked(server, f"{tenant}-read", f"/requests/{name}")
            assert answer.status_code == 200, answer.text
            one = answer.json()
            assert (one["tenant"], one["request_id"], one["trace_id"]) == (tenant, "chat-1", trace)
            keys[tenant] = one["key"]
        other = asked(server, f"{tenant}-read", f"/requests/{keys.get('acme')}")
        assert other.status_code == (200 if tenant == "acme" else 404)
    assert len(set(keys.values())) == 2

    for name in ("chat-1", trace):
        several = asked(server, ROOT, f"/requests/{name}")
        assert several.status_code == 300
        assert {row["key"]: row["tenant"] for row in several.json()["requests"]} == {
            key: tenant for tenant, key in keys.items()
        }
    for tenant, key in keys.items():
        assert asked(server, ROOT, f"/requests/{key}").json()["tenant"] == tenant


def wait_for(server: Server, spans: dict[str, int]) -> None:
    """Wait until each tenant's one request has its spans."""
    wanted = dict(spans)
    for _ in range(600):
        for tenant, count in list(wanted.items()):
            listed = asked(server, f"{tenant}-read", "/requests", **ALL).json()["requests"]
            if len(listed) == 1:
                one = asked(server, f"{tenant}-read", f"/requests/{listed[0]['key']}").json()
                # its key may have changed since it was listed: another tenant came into its trace
                if one.get("spans") == count:
                    del wanted[tenant]
        if not wanted:
            return
        httpx.get(f"{server.api}/health", timeout=60)
    raise AssertionError(f"not assembled: {wanted}")
