"""Traffic that misses, a running pdscope, Debian's Prometheus and Alertmanager, and the webhook."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from tests.scenarios.processes import Stage
from tests.scenarios.scenario import scenario
from tests.scenarios.server import Server
from tests.scenarios.spec import NS
from tests.scenarios.telemetry import exports

FREE = ("--api", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0")


@dataclass(frozen=True)
class OnCall:
    """A pdscope with everything that hangs on it."""

    addresses: dict[str, str]
    alertmanager: int
    webhook: Program
    others: tuple[Program, ...]

    def alerts(self) -> list[dict[str, Any]]:
        """Alerts that Alertmanager holds."""
        found: list[dict[str, Any]] = httpx.get(f"http://127.0.0.1:{self.alertmanager}/api/v2/alerts").json()
        return found

    def messages(self) -> list[dict[str, Any]]:
        """Messages the webhook has printed."""
        return [json.loads(line) for line in self.webhook.lines if line.startswith("{")]

    def said(self) -> object:
        """What the programs last said, for when nothing comes."""
        return self.webhook.lines, *(program.lines[-5:] for program in self.others)


@contextmanager
def on_call(folder: Path, objectives: list[dict[str, Any]]) -> Iterator[OnCall]:
    slo = folder / "slo.yaml"
    slo.write_text(yaml.safe_dump({"objectives": objectives}))
    with pdscope("serve", "--data", folder / "data", "--json", *FREE, "--slo", slo) as served:
        addresses = json.loads(wait_for(lambda: served.lines, 60, lambda: served.process.poll())[0])
        with pdscope("alert-webhook", "--listen", "127.0.0.1:0", "--api", addresses["api"]) as webhook:
            receiver = wait_for(lambda: webhook.lines, 60)[0].split()[-1]
            port = free_port()
            with (
                debian(
                    "prometheus-alertmanager", *alertmanager_flags(folder, receiver, port), cwd=folder
                ) as manager,
                debian(
                    "prometheus", *prometheus_flags(folder, slo, addresses["api"], port), cwd=folder
                ) as prometheus,
            ):
                wait_for(lambda: httpx.get(f"http://127.0.0.1:{port}/-/ready").is_success, 30)
                yield OnCall(addresses, port, webhook, (served, prometheus, manager))


def test_a_burning_budget_reaches_the_one_on_call(tmp_path: Path) -> None:
    with on_call(tmp_path, [{"name": "impossible", "ttft": 0.001, "tpot": 0.5, "target": 0.99}]) as live:
        streamer = Streamer(live.addresses["otlp_grpc"], [load("dynamo")])
        streamer.start()
        try:
            alerts = wait_for(lambda: named(live, "PdscopeBudgetBurn"), 120, live.said)
            text = wait_for(lambda: "budget burns" in text_of(live) and text_of(live), 60, live.said)
        finally:
            streamer.stop()
        assert streamer.failures == []
    assert {alert["labels"]["slo"] for alert in alerts} == {"impossible"}
    assert {alert["labels"]["sli"] for alert in alerts} <= {"joint", "ttft"}
    assert "*FIRING* impossible: the error budget burns 100.0 times too fast" in text
    assert "requests missed." in text
    assert "Waited longest in: " in text
    assert "|Runbook>" in text


FAULTS = (
    ("starved_prefill", "PdscopePoolImbalance", "pool_imbalance.prefill_starved"),
    ("slow_link", "PdscopeTransferSlow", "transfer_delay.slow_link"),
)
"""Fault of a scenario, the alert it must raise, the cause the alert must name."""


def test_an_injected_fault_reaches_the_one_on_call_as_its_cause(tmp_path: Path) -> None:
    """Two deployments, each with a fault of its own: each alert names its own deployment and cause."""
    stages = [
        Stage(found, time.time_ns() - found.run.end - NS, f"{number}{fault}")
        for number, (fault, *_) in enumerate(FAULTS)
        for found in [scenario(5, 0, "one", (fault,))]
    ]
    objectives = [
        {
            "name": fault,
            "selector": {"model": stage.model},
            "ttft": stage.scenario.truth.objective.ttft,
            "tpot": stage.scenario.truth.objective.tpot,
            "target": 0.99,
        }
        for stage, (fault, *_) in zip(stages, FAULTS, strict=True)
    ]
    with on_call(tmp_path, objectives) as live:
        server = Server(live.addresses["otlp_http"], live.addresses["api"])
        for stage in stages:
            server.send(exports(stage))
        server.close()
        for stage, (fault, name, cause) in zip(stages, FAULTS, strict=True):

            def about(name: str = name, cause: str = cause) -> list[dict[str, Any]]:
                return [alert for alert in named(live, name) if alert["labels"]["cause"] == cause]

            (alert,) = wait_for(about, 120, live.said)
            assert alert["labels"]["slo"] == fault
            assert alert["labels"]["model"] == stage.model
            assert alert["annotations"]["runbook_url"].endswith(f"/runbooks/{cause}.md")

            def told(cause: str = cause, fault: str = fault) -> str:
                blocks = [block["text"]["text"] for m in live.messages() for block in m["blocks"]]
                return next((b for b in blocks if f"slo `{fault}`" in b and f"cause `{cause}`" in b), "")

            message = wait_for(told, 60, live.said)
            assert f"Causes: {cause} " in message, "the largest cause of the window comes first"
            assert f"model `{stage.model}`" in message


def named(live: OnCall, name: str) -> list[dict[str, Any]]:
    return [alert for alert in live.alerts() if alert["labels"]["alertname"] == name]


def text_of(live: OnCall) -> str:
    return "\n".join(block["text"]["text"] for message in live.messages() for block in message["blocks"])


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
