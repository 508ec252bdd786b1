"""What docs/operating.md says of backups of the embedded store: a copy answers as the original did."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from analyzer.demo.capture import load
from tests.integration.running import send, serving

pytestmark = pytest.mark.timeout(900)

EXPORTS = [export.body for export in load("vllm").exports[:200]]


@pytest.mark.long
def test_a_copy_of_a_stopped_store_answers_the_same(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server:
        send(server, EXPORTS[:100])
        server.settle()
        before = server.requests()
    assert before
    archive = tmp_path / "backup.tar"
    subprocess.run(["tar", "--create", "--file", archive, "--directory", tmp_path, "data"], check=True)
    shutil.rmtree(tmp_path / "data")
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", tmp_path], check=True)
    with serving(tmp_path / "data") as server:
        server.settle()
        assert server.requests() == before


def test_a_copy_made_while_it_was_held_still_lacks_nothing_acknowledged(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server:
        spans = send(server, EXPORTS)
        os.kill(server.process.pid, signal.SIGSTOP)
        subprocess.run(["cp", "-a", tmp_path / "data", tmp_path / "copy"], check=True)
        os.kill(server.process.pid, signal.SIGCONT)
        server.settle()
        whole = {request["key"] for request in server.requests()}
    with serving(tmp_path / "copy") as server:
        server.settle()
        assert server.get("/telemetry")["ingest"]["spans_received"] >= spans
        assert {request["key"] for request in server.requests()} == whole
