"""The README's way from vLLM to a waterfall, walked; recorded deployments stand where engines would be."""

import asyncio
import gzip
import json
import os
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from analyzer.demo.capture import load
from collector.engines import table
from collector.generated_page import main as check_page
from collector.settings import resolve
from tests.dashboards.programs import pdscope, started, wait_for
from tests.docs.workspace import Workspace
from tests.paths import CAPTURES, PROJECT
from tests.receive.bodies import json_lines
from tests.system.day import PATIENCE_S, RECORDED, Day
from tests.tap.serving import chat

EVER = {"from": "0", "to": "4000000000"}
HEADERS = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


def recorded(day: Day, system: str) -> list[dict[str, Any]]:
    """The requests of a recorded system, from the deployment it was loaded into."""
    return [request for request in day.requests() if request["system"] == system]


def run(reader: Workspace, line: str) -> str:
    """What a command says, once it has done what it should."""
    done = reader.run(line)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.promise("Put the command on your path", "`pip install .` in an environment of your own")
def test_the_command(installed: Path) -> None:
    """the wheel, installed into an empty environment, says its version"""
    done = subprocess.run([installed, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pdscope ")


@pytest.mark.promise("`pdscope --install-completion` teaches your shell its commands and options")
def test_completion(installed: Path, tmp_path: Path) -> None:
    """installed for bash in a home of its own; bash then completes a command and an option"""
    env = {"PATH": f"{installed.parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "SHELL": "/bin/bash"}
    # The shell that is taught is the one the command is typed in.
    typed = ["bash", "-c", "pdscope --install-completion && true"]
    subprocess.run(typed, env=env, capture_output=True, text=True, check=True)
    script = next(path for path in tmp_path.rglob("*") if path.is_file() and "pdscope.sh" in path.name)
    for line, wanted in (("pdscope repo", "report"), ("pdscope report --for", "--format")):
        words = line.split()
        on_the_line = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}"
        code = f"source {script}; {on_the_line}; _pdscope_completion pdscope; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(["bash", "-c", code], env=env, capture_output=True, text=True, check=True)
        assert wanted in done.stdout.split()


@pytest.mark.promise(
    "It listens for OTLP on 4317 (gRPC) and 4318 (HTTP), answers on 8080, and keeps its data in "
    "`./pdscope-data`",
    "an embedded ClickHouse; nothing else to install",
    "```sh pdscope serve ```",
)
def test_serve(reader: Workspace) -> None:
    """the settings without any given; a running `pdscope serve` and the directory it made"""
    settings = resolve({}, {})
    assert [str(found.port) for found in (settings.otlp_grpc, settings.otlp_http, settings.api)] == [
        "4317",
        "4318",
        "8080",
    ]
    assert settings.data == Path("./pdscope-data")
    assert settings.store is None
    assert (reader.folder / "pdscope-data/pdscope.lock").exists()


@pytest.mark.promise("give them names that say their role", "The router ties both legs together")
def test_both_legs_of_vllm(day: Day) -> None:
    """recorded vllm-prefill and vllm-decode behind vllm-router: requests that name one worker of each pool"""
    requests = recorded(day, "vllm")
    tied = [one for one in requests if one["prefill_worker"] and one["decode_worker"]]
    assert len(requests) > 300
    assert len(tied) > 0.9 * len(requests)
    services = {worker["service"] for worker in day.get("/telemetry", **EVER)["workers"]}
    assert {"vllm-prefill", "vllm-decode", "vllm-router"} <= services


@pytest.mark.promise(
    "a request shows up some five to ten seconds after it ended",
    "Your own router: ten lines with [PhaseTracer](docs/instrumenting.md)",
)
def test_your_own_router(reader: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    """the ten lines of docs/instrumenting.md, exporting as the SDK does; how long it took is printed"""
    text = (PROJECT / "docs/instrumenting.md").read_text("utf-8")
    lines = text.partition("## Your own router")[2].partition("`request.sent`")[0].splitlines()
    code = "\n".join(line[4:] for line in lines if line.startswith("    "))
    code = code.replace("http://127.0.0.1:4317", f"http://{reader.addresses['otlp_grpc']}")

    async def choose(body: object) -> str:
        return "worker"

    async def forward(worker: str, body: object, headers: dict[str, str]) -> Any:
        yield b'data: {"choices": [{"delta": {"content": "x"}}]}\n\ndata: [DONE]\n\n'

    async def send(chunk: bytes) -> None: ...

    scope: dict[str, Any] = {"choose": choose, "forward": forward}
    exec(code, scope)
    asyncio.run(scope["handle"](HEADERS, {}, send))
    ended = time.monotonic()
    url = f"{reader.addresses['api']}/api/v1/requests/{HEADERS['traceparent'].split('-')[1]}"
    wait_for(lambda: httpx.get(url, timeout=60).status_code == 200, PATIENCE_S)
    with capsys.disabled():
        print(f"\na request of one's own router showed up after {time.monotonic() - ended:.1f} s")


@pytest.mark.promise("the last hour: what was met, what missed, where the time went")
def test_report(reader: Workspace) -> None:
    """`pdscope report` on a recorded deployment that was sent as if it were now"""
    text = run(reader, "pdscope report --from 1970-01-01T00:00:00Z")
    for word in ("met", "missed", "prefill"):
        assert word in text.lower()


@pytest.mark.promise("one request's waterfall; a trace id will do")
def test_explain(reader: Workspace) -> None:
    """`pdscope explain` with a request's id and with its trace's"""
    found = httpx.get(f"{reader.addresses['api']}/api/v1/requests", params=EVER, timeout=60).json()[
        "requests"
    ]
    request = next(one for one in found if one["prefill_worker"] and one["complete"])
    command = [reader.folder / "bin/pdscope", "explain", "--api", reader.addresses["api"]]
    shown = [
        subprocess.run([*command, request[name]], capture_output=True, text=True, check=True).stdout
        for name in ("request_id", "trace_id")
    ]
    assert shown[0] == shown[1]
    assert "prefill" in shown[0]


@pytest.mark.promise("open <http://127.0.0.1:8080/>", "![The overview page](docs/images/overview.png)")
def test_the_overview(day: Day, page: Page) -> None:
    """Chromium, let in by the token: the figures of the tiles are those of REST"""
    asked = {key: day.incident("slow-link").asked[key] for key in ("from", "to", "model")}
    (objective,) = [
        found for found in day.get("/slo", **asked)["objectives"] if found["requests"]["evaluated"]
    ]
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    page.goto(f"{day.native.url('analyzer-2', 8080)}/?{query}")
    expect(page.locator(".tile").nth(0)).to_contain_text(f"{objective['attainment']['joint'] * 100:.1f} %")
    counts = objective["requests"]
    expect(page.locator(".tile").nth(1)).to_contain_text(f"{counts['missed']:,} of {counts['evaluated']:,}")
    assert (PROJECT / "docs/images/overview.png").exists()


@pytest.mark.promise(
    "vLLM's own spans leave the KV hand-off inside decode's queue time",
    "shows publish, transfer and import apart",
)
def test_the_traced_connector(day: Day) -> None:
    """recorded vLLM without the connector and with it: intervals that cover several phases, or one each"""
    requests = [day.get(f"/requests/{found['key']}") for found in recorded(day, "vllm")[::12]]
    phases = [
        (
            {item["phase"] for item in request["intervals"]},
            {phase for item in request["intervals"] for phase in item["covers"]},
        )
        for request in requests
    ]
    with_connector = [seen for seen, _ in phases if "kv_transfer" in seen]
    assert any({"kv_publish", "kv_transfer", "kv_import"} <= seen for seen in with_connector)
    without = [covered for seen, covered in phases if "kv_transfer" not in seen]
    assert any({"decode_queue", "kv_transfer"} <= covered for covered in without)


@pytest.mark.promise("lists every phase, how to switch it on, and what not to believe")
def test_the_page_on_engines() -> None:
    """docs/engines.md is what the adapters' table renders"""
    assert check_page(table.render, ["--check", str(PROJECT / "docs/engines.md")]) == 0


@pytest.mark.promise(
    "Dynamo: `OTEL_EXPORT_ENABLED=1 OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4317"
)
def test_dynamo(day: Day) -> None:
    """Dynamo recorded with just these variables: its requests are whole"""
    commands = json.loads((CAPTURES / RECORDED["dynamo"]).with_name("commands.json").read_text("utf-8"))
    env = commands["dynamo-frontend"]["env"]
    assert (env["OTEL_EXPORT_ENABLED"], env["DYN_LOGGING_JSONL"]) == ("1", "1")
    assert env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"].startswith("http://")
    requests = recorded(day, "dynamo")
    assert len(requests) > 150
    assert sum(request["complete"] for request in requests) > 0.95 * len(requests)


@pytest.mark.promise("No router to change: put `pdscope tap` in front")
def test_tap(reader: Workspace) -> None:
    """`pdscope tap` before a streaming endpoint: the request it saw, with the TTFT of its client"""
    otlp = f"http://{reader.addresses['otlp_grpc']}"
    with started(sys.executable, "-m", "tests.tap.upstream") as upstream:
        address = wait_for(lambda: upstream.lines, 60)[0]
        with pdscope("tap", "--upstream", address, "--listen", "127.0.0.1:0", "--otlp", otlp) as tap:
            url = wait_for(lambda: re.findall(r"listening on (http://[\d.:]+)", "\n".join(tap.lines)), 60)[0]
            body = chat(usage=True, first=0.3)
            httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60).raise_for_status()
    asked = {**EVER, "model": "tiny"}
    url = f"{reader.addresses['api']}/api/v1/requests"
    found = wait_for(lambda: httpx.get(url, params=asked, timeout=60).json()["requests"], PATIENCE_S)
    assert found[0]["ttft"] >= 0.3
    assert found[0]["output_tokens"] == 6


@pytest.mark.promise(
    "reads OTLP bodies, OTLP JSON lines, tars of bodies, the OpenTelemetry Collector's file "
    "exporter and Dynamo "
    "request traces, and says what became of every span"
)
def test_import(day: Day, reader: Workspace) -> None:
    """recorded files of each format: every span is stored, refused or dropped, and counted"""
    bodies = [export.body for export in load("dynamo").exports[:30]]
    (reader.folder / "body.otlp").write_bytes(b"".join(bodies))
    (reader.folder / "exporter.json").write_bytes(json_lines(bodies))
    with tarfile.open(reader.folder / "bodies.tar", "w") as archive:
        for number, body in enumerate(bodies):
            path = reader.folder / f"{number}.pb"
            path.write_bytes(body)
            archive.add(path, path.name)
    (reader.folder / "reqtrace.jsonl").write_bytes(
        gzip.decompress((CAPTURES / RECORDED["dynamo, its own record"]).read_bytes())
    )
    spans = {}
    for name in ("body.otlp", "exporter.json", "bodies.tar", "reqtrace.jsonl"):
        told = json.loads(run(reader, f"pdscope import {name} --json"))
        (spans[name],) = [file["spans"] for file in told["files"]]
    assert spans["body.otlp"] == spans["exporter.json"] == spans["bodies.tar"] > 100
    assert spans["reqtrace.jsonl"] == 165
    formats = {name: report["format"] for name, report in day.imported.items()}
    assert formats["vllm"] == "tar"
    assert formats["vllm, KV never claimed"] == "OTLP JSON, wrapped"
    assert all(report["spans"] for report in day.imported.values())
    # Some of this capture's files were cut short as it was recorded: they are counted and named.
    report = day.imported["vllm"]
    assert report["skipped"] == {"not a whole OTLP body": 9}
    assert all(".pb: not a whole OTLP body" in example for example in report["examples"])
