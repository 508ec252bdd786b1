"""Two collectors and two analyzers on one server, each killed in turn under load: nothing lost or doubled.

The server is the embedded engine behind HTTP, written to by the real client.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import clickhouse_connect
import httpx
import pytest
from clickhouse_connect.driver.client import Client

from tests.chaos.load import SPANS_PER_REQUEST, Senders
from tests.paths import PROJECT

FREE = ("--api", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0")
TAKE_OVER_S = 180


@dataclass
class One:
    """A process of the deployment, started again under the same name after each kill."""

    role: str
    data: Path
    store: str
    process: "subprocess.Popen[str] | None" = None
    api: str = ""
    port: int = 0

    def start(self) -> None:
        arguments = ["serve", "--json", "--role", self.role, "--store", self.store, "--data", str(self.data)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PDSCOPE_")}
        with open(self.data.with_suffix(".log"), "a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "analyzer.cli.main", *arguments, *FREE],
                cwd=PROJECT,
                env=kept,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, self.data.with_suffix(".log").read_text()
        said = json.loads(line)
        self.api = said["api"]
        self.port = int(said.get("otlp_grpc", ":0").rpartition(":")[2])

    def end(self, how: signal.Signals) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.communicate(timeout=60)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.store.inserting_server", str(tmp_path / "server")],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    yield int(process.stdout.readline())
    process.kill()
    process.communicate()


@pytest.fixture
def client(server: int) -> Iterator[Client]:
    with clickhouse_connect.get_client(host="127.0.0.1", port=server) as made:
        yield made


@pytest.fixture
def deployment(server: int, tmp_path: Path) -> Iterator[list[One]]:
    store = f"clickhouse://127.0.0.1:{server}/default"
    made = [
        One(role, tmp_path / f"{role}-{number}", store)
        for role in ("collect", "analyze")
        for number in (1, 2)
    ]
    try:
        for one in made:
            one.start()
        yield made
    finally:
        for one in made:
            one.end(signal.SIGKILL)


@pytest.mark.timeout(900)
def test_each_killed_in_turn_under_load(
    deployment: list[One], client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    collectors, analyzers = deployment[:2], deployment[2:]
    senders = [Senders(1, seed=number, pause_s=0.4) for number in range(2)]
    for sender, collector in zip(senders, collectors, strict=True):
        sender.port = collector.port
    began = time.monotonic()
    assembled = "SELECT uniqExact(request_key) FROM requests FINAL WHERE tombstone = 0"
    _grows(client, assembled, 0)
    # the first analyzer to have joined names requests: the other takes over all of its work
    for analyzer in analyzers:
        analyzer.end(signal.SIGKILL)
        _grows(client, assembled, int(client.query(assembled).result_rows[0][0]))
        analyzer.start()
    for sender, collector in zip(senders, collectors, strict=True):
        sender.port = None
        collector.end(signal.SIGKILL)
        collector.start()
        sender.port = collector.port
        time.sleep(1)
    acknowledged = set().union(*(sender.stop().acknowledged for sender in senders))
    kept = "SELECT request_id, spans FROM requests FINAL WHERE tombstone = 0"
    _await(lambda: acknowledged <= {row[0] for row in client.query(kept).result_rows}, 180)
    rows = client.query(kept).result_rows
    many = Counter(row[0] for row in rows)
    partial = [name for name, spans in rows if name in acknowledged and spans != SPANS_PER_REQUEST]
    with capsys.disabled():
        print(
            f"\n4 kills in {time.monotonic() - began:.0f} s: {len(acknowledged)} requests acknowledged; "
            f"assembled {len(many)}, twice {sum(n > 1 for n in many.values())}, not whole {len(partial)}"
        )
    assert len(acknowledged) > 50
    assert max(many.values()) == 1
    assert not partial
    _both_answer_alike(analyzers, len(many))
    for one in deployment:
        one.end(signal.SIGTERM)
        assert "Traceback" not in one.data.with_suffix(".log").read_text()
    left = client.query("SELECT count() FROM system.databases WHERE name LIKE '%_scratch_%'").result_rows[0][
        0
    ]
    assert left == 2  # of the two that were killed; those that end by themselves leave nothing


def _both_answer_alike(analyzers: list[One], requests: int) -> None:
    for analyzer in analyzers:
        _await(lambda api=analyzer.api: _total(api) == requests, 60)  # type: ignore[misc]


def _total(api: str) -> int:
    window = {"from": str(int(time.time()) - 3600), "to": str(int(time.time()) + 60)}
    return int(httpx.get(f"{api}/api/v1/requests", params=window, timeout=30).json()["total"])


def _grows(client: Client, sql: str, beyond: int) -> None:
    _await(lambda: int(client.query(sql).result_rows[0][0]) > beyond + 5, TAKE_OVER_S)


def _await(holds: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.5)
