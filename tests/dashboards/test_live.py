"""Traffic that misses, a running pdscope, Debian's Prometheus and Alertmanager, and the webhook."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from typer.testing import CliRunner

from analyzer.cli.main import app
from analyzer.demo.capture import load
from analyzer.demo.stream import Streamer
from tests.dashboards.programs import Program, debian, free_port, pdscope, wait_for

FREE = ("--api", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0")
SLO = {"objectives": [{"name": "impossible", "ttft": 0.001, "tpot": 0.5, "target": 0.99}]}


def test_a_missed_objective_reaches_the_one_on_call_with_its_cause(tmp_path: Path) -> None:
    slo = tmp_path / "slo.yaml"
    slo.write_text(yaml.safe_dump(SLO))
    data = tmp_path / "data"
    with pdscope("serve", "--data", data, "--json", *FREE, "--slo", slo) as served:
        addresses = json.loads(wait_for(lambda: served.lines, 60, lambda: served.process.poll())[0])
        with pdscope("alert-webhook", "--listen", "127.0.0.1:0", "--api", addresses["api"]) as webhook:
            receiver = wait_for(lambda: webhook.lines, 60)[0].split()[-1]
            alertmanager = free_port()
            with (
                debian("prometheus-alertmanager", *alertmanager_flags(tmp_path, receiver, alertmanager),
                       cwd=tmp_path) as manager,
                debian("prometheus", *prometheus_flags(tmp_path, slo, addresses["api"], alertmanager),
                       cwd=tmp_path) as prometheus,
            ):  # fmt: skip
                wait_for(lambda: httpx.get(f"http://127.0.0.1:{alertmanager}/-/ready").is_success, 30)
                streamer = Streamer(addresses["otlp_grpc"], [load("dynamo")])
                streamer.start()
                try:
                    said = lambda: (webhook.lines, prometheus.lines[-5:], manager.lines[-5:])  # noqa: E731
                    alerts = wait_for(lambda: firing(alertmanager), 90, said)
                    messages = wait_for(lambda: messages_of(webhook), 30, said)
                finally:
                    streamer.stop()
                assert streamer.failures == []
    burn = [alert for alert in alerts if alert["labels"]["alertname"] == "PdscopeBudgetBurn"]
    assert {alert["labels"]["slo"] for alert in burn} == {"impossible"}
    assert {alert["labels"]["sli"] for alert in burn} <= {"joint", "ttft"}
    (cause,) = [alert for alert in alerts if alert["labels"]["alertname"] == "PdscopeOtherCause"]
    assert cause["labels"]["cause"] == "insufficient_evidence"
    assert cause["annotations"]["runbook_url"].endswith("/runbooks/insufficient_evidence.md")
    text = "\n".join(block["text"]["text"] for message in messages for block in message["blocks"])
    assert "*FIRING* impossible: the error budget burns 100.0 times too fast" in text
    assert "cause `insufficient_evidence`" in text
    assert "requests missed." in text
    assert "Waited longest in: " in text
    assert "|Runbook>" in text


def firing(port: int) -> list[dict[str, Any]]:
    """Alerts in Alertmanager, once burn and cause are both there."""
    alerts: list[dict[str, Any]] = httpx.get(f"http://127.0.0.1:{port}/api/v2/alerts").json()
    names = {alert["labels"]["alertname"] for alert in alerts}
    return alerts if {"PdscopeBudgetBurn", "PdscopeOtherCause"} <= names else []


def messages_of(webhook: Program) -> list[dict[str, Any]]:
    """Messages printed so far, once one tells of the burn and one of the cause."""
    lines = [line for line in webhook.lines if line.startswith("{")]
    text = "\n".join(lines)
    done = "budget burns" in text and "cause `insufficient_evidence`" in text
    return [json.loads(line) for line in lines] if done else []


def alertmanager_flags(folder: Path, receiver: str, port: int) -> list[str]:
    route = {"receiver": "pdscope", "group_wait": "0s", "group_interval": "1s", "group_by": ["alertname"]}
    config = {
        "route": route,
        "receivers": [
            {"name": "pdscope", "webhook_configs": [{"url": receiver, "send_resolved": True}]},
        ],
    }
    path = folder / "alertmanager.yml"
    path.write_text(yaml.safe_dump(config))
    return [
        f"--config.file={path}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]


def prometheus_flags(folder: Path, slo: Path, api: str, alertmanager: int) -> list[str]:
    """Rules with windows a fortieth as long, evaluated every second."""
    built = CliRunner().invoke(
        app,
        ["rules", "build", "--slo", str(slo), "--out", str(folder), "--shorten", "40", "--every", "1"],
    )
    assert built.exit_code == 0, built.output
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(folder / "prometheus/pdscope.rules.yml")],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]},
        "scrape_configs": [
            {"job_name": "pdscope", "static_configs": [{"targets": [api.removeprefix("http://")]}]},
        ],
    }
    path = folder / "prometheus.yml"
    path.write_text(yaml.safe_dump(config))
    return [
        f"--config.file={path}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{free_port()}",
    ]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls to loopback go to loopback, whatever the machine's proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
