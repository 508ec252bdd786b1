"""What docker-compose.yml starts works together, run without Docker (see native.py for what stands in)."""

from pathlib import Path

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from analyzer.demo.capture import load
from tests.dashboards.programs import wait_for
from tests.deploy.native import SECRETS, Native, running

pytestmark = pytest.mark.timeout(900)

WINDOW = "?from=0&to=4000000000"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def send(native: Native, *collectors: str, exports: int = 40) -> None:
    """Send the beginning of a capture, each export to the next of the collectors."""
    bodies = [export.body for export in load("vllm").exports[:exports]]
    token = (("authorization", f"Bearer {SECRETS['PDSCOPE_TOKEN']}"),)
    for index, body in enumerate(bodies):
        port = native.ports[collectors[index % len(collectors)], 4317]
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            message = ExportTraceServiceRequest.FromString(body)
            TraceServiceStub(channel).Export(message, metadata=token, timeout=30)


def total(native: Native, analyzer: str = "pdscope") -> int:
    found: int = native.get(analyzer, 8080, f"/api/v1/requests{WINDOW}").json()["total"]
    return found


def ready(native: Native, name: str) -> bool:
    return native.get(name, 8080, "/readyz").is_success


def test_embedded(tmp_path: Path) -> None:
    with running("embedded", tmp_path) as native:
        wait_for(lambda: ready(native, "pdscope"), 180, lambda: native.programs["pdscope"].lines)
        wait_for(lambda: native.healthy("pdscope"), 180)
        send(native, "pdscope")
        wait_for(lambda: total(native), 180)
        asked = {"query": "SELECT count() FROM request_log", "password": SECRETS["PDSCOPE_TOKEN"]}
        rows = httpx.get(native.url("pdscope", 8123), params=asked, timeout=60)
        assert rows.text.strip() == str(total(native))
        assert httpx.get(native.url("pdscope", 8080) + "/api/v1/slo", timeout=60).status_code == 401
        with (
            grpc.insecure_channel(f"127.0.0.1:{native.ports['pdscope', 4317]}") as channel,
            pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"),
        ):
            TraceServiceStub(channel).Export(ExportTraceServiceRequest(), timeout=30)


def test_full(tmp_path: Path) -> None:
    with running("full", tmp_path) as native:
        said = lambda: {name: program.lines[-3:] for name, program in native.programs.items()}  # noqa: E731
        wait_for(lambda: ready(native, "pdscope"), 180, said)
        wait_for(lambda: native.healthy("pdscope-server"), 180)
        wait_for(lambda: native.healthy("webhook"), 180)
        send(native, "pdscope-server")
        wait_for(lambda: total(native), 180, said)
        assert objectives(native) == ["interactive"]
        wait_for(lambda: scraped(native) == {"pdscope": "up"}, 180, said)
        rules = httpx.get(native.url("prometheus", 9090) + "/api/v1/rules", timeout=60).json()["data"][
            "groups"
        ]
        assert "PdscopeBudgetBurn" in {rule["name"] for group in rules for rule in group["rules"]}
        managers = httpx.get(native.url("prometheus", 9090) + "/api/v1/alertmanagers", timeout=60).json()[
            "data"
        ]
        assert [one["url"] for one in managers["activeAlertmanagers"]] == [
            native.url("alertmanager", 9093) + "/api/v2/alerts"
        ]
        reach_the_webhook(native)


def reach_the_webhook(native: Native) -> None:
    """An alert that Alertmanager is told goes on to the webhook, which lets it in by the token."""
    alert = {
        "labels": {"alertname": "PdscopeDown", "severity": "page"},
        "annotations": {"summary": "a trial"},
    }
    httpx.post(
        native.url("alertmanager", 9093) + "/api/v2/alerts", json=[alert], timeout=60
    ).raise_for_status()
    webhook = native.programs["webhook"]
    message = wait_for(
        lambda: [line for line in webhook.lines if "a trial" in line], 180, lambda: webhook.lines
    )
    assert "FIRING" in message[0]


def objectives(native: Native) -> list[str]:
    found = native.get("pdscope", 8080, f"/api/v1/slo{WINDOW}").json()["objectives"]
    return [item["name"] for item in found if item["name"] != "default"]


def scraped(native: Native) -> dict[str, str]:
    targets = httpx.get(native.url("prometheus", 9090) + "/api/v1/targets").json()["data"]["activeTargets"]
    return {target["labels"]["job"]: target["health"] for target in targets}


@pytest.mark.long
def test_collectors_and_analyzers_apart(tmp_path: Path) -> None:
    with running("scale", tmp_path) as native:
        said = lambda: {name: program.lines[-3:] for name, program in native.programs.items()}  # noqa: E731
        for name in ("collector-1", "collector-2", "analyzer-1", "analyzer-2"):
            wait_for(lambda name=name: ready(native, name), 180, said)
            wait_for(lambda name=name: native.healthy(name), 180)
        send(native, "collector-1", "collector-2")
        wait_for(lambda: total(native), 180, said)
        wait_for(lambda: total(native, "analyzer-2") == total(native) and total(native), 180, said)
        assert native.get("collector-1", 8080, "/api/v1/slo").status_code == 404
        with pytest.raises(grpc.RpcError, match="UNAVAILABLE"):
            send(native, "analyzer-1", exports=1)
