"""Starts `pdscope serve` as a user does, sends it telemetry as an SDK does, and asks it over REST."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from collector.receive.formats import FileReport, read_path
from tests.paths import PROJECT

COMMAND = (sys.executable, "-m", "analyzer.cli.main")
FREE = (
    *("--api", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0"),
    *("--clickhouse-http", "off"),
)
ALL = {"from": "0", "to": "4000000000"}
"""Parameters of a window that holds every request."""

Json = dict[str, Any]


def environment(**extra: str) -> dict[str, str]:
    """The caller's, without pdscope's own settings, with the project to be found from any directory."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PDSCOPE_")}
    return {**kept, "PYTHONPATH": str(PROJECT), "COLUMNS": "100", **extra}


def pdscope(*arguments: str | Path, cwd: Path = PROJECT, **extra: str) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=environment(**extra),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@dataclass(frozen=True)
class Server:
    """A running `pdscope serve`."""

    process: "subprocess.Popen[str]"
    data: Path
    log: Path
    api: str
    otlp_grpc: str
    otlp_http: str
    ready_s: float
    clickhouse_http: str = ""

    def get(self, path: str, **params: Any) -> Json:
        """Answer of a GET below /api/v1."""
        answer = httpx.get(f"{self.api}/api/v1{path}", params=params, timeout=60)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def metric(self, line: str) -> float:
        """Value of the metric whose line starts so; 0 when it was never counted."""
        for found in httpx.get(f"{self.api}/metrics", timeout=60).text.splitlines():
            if found.startswith(line + " "):
                return float(found.rsplit(" ", 1)[1])
        return 0.0

    def requests(self) -> list[Json]:
        """All requests, by cursor."""
        found: list[Json] = []
        cursor = None
        while True:
            page = self.get("/requests", limit=1000, **ALL, **({"cursor": cursor} if cursor else {}))
            found += page["requests"]
            cursor = page["next_cursor"]
            if not cursor:
                assert len(found) == page["total"]
                return found

    def settle(self, review: bool = False) -> None:
        """Wait until every acknowledged span is taken into account; `review`: and what only time can tell."""
        until = time.monotonic() + 90
        while self.metric("pdscope_journal_backlog_bytes") or self.metric("pdscope_assembly_lag_inserts"):
            assert time.monotonic() < until, "assembly did not catch up in 90 s"
            time.sleep(0.1)
        if review:
            time.sleep(7)


def start(data: Path, *options: str, cwd: Path = PROJECT, log: Path | None = None) -> Server:
    """Start one; it is ready when this returns. Its log lies beside its data unless said otherwise."""
    log = log or data.parent / f"{data.name}.log"
    began = time.monotonic()
    with log.open("a") as errors:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--data", str(data), "--json", *FREE, *options],
            cwd=cwd,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout
    line = process.stdout.readline()
    assert line, log.read_text()
    said = json.loads(line)
    return Server(
        process, data, log, said["api"], said["otlp_grpc"], said["otlp_http"], time.monotonic() - began,
        said.get("clickhouse_http", ""),
    )  # fmt: skip


@contextmanager
def serving(data: Path, *options: str, cwd: Path = PROJECT, log: Path | None = None) -> Iterator[Server]:
    """Run one, and end it as a service manager does."""
    server = start(data, *options, cwd=cwd, log=log)
    try:
        yield server
        server.process.terminate()
        assert server.process.wait(timeout=60) == 0
    finally:
        end(server)


def end(server: Server) -> None:
    """Kill what may be left of it."""
    server.process.kill()
    server.process.communicate()


def bodies(path: Path) -> list[bytes]:
    """The export bodies of a capture's file."""
    report = FileReport(path.name)
    found = [record.body for record in read_path(path, report, lambda size: None)]
    assert not report.skipped, report.skipped
    return found


def send(server: Server, exports: list[bytes]) -> int:
    """Export as the SDKs of many processes do: several calls at once. Returns the number of spans."""

    def export(body: bytes) -> int:
        message = ExportTraceServiceRequest.FromString(body)
        answer = stub.Export(message, timeout=60)
        assert not answer.partial_success.rejected_spans, answer
        return sum(len(scope.spans) for part in message.resource_spans for scope in part.scope_spans)

    with grpc.insecure_channel(server.otlp_grpc) as channel, ThreadPoolExecutor(32) as processes:
        stub = TraceServiceStub(channel)
        return sum(processes.map(export, exports))
