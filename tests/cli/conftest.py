"""A pdscope of its own process, on free ports, and how to run commands."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.paths import PROJECT

FREE = (
    *("--api", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0"),
    *("--clickhouse-http", "127.0.0.1:0"),
)


@dataclass(frozen=True)
class Served:
    """A running `pdscope serve`."""

    data: Path
    api: str
    otlp_http: str
    process: "subprocess.Popen[str]"


def environment(**extra: str) -> dict[str, str]:
    """The caller's, without pdscope's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PDSCOPE_")}
    return {**kept, "COLUMNS": "100", **extra}


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def pdscope() -> Run:
    """Run a command to its end."""

    def run(*arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "analyzer.cli.main", *arguments],
            cwd=PROJECT,
            env=environment(**extra),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("served") / "data"
    process = subprocess.Popen(
        [sys.executable, "-m", "analyzer.cli.main", "serve", "--data", str(data), "--json", *FREE],
        cwd=PROJECT,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    addresses = json.loads(process.stdout.readline())
    yield Served(data, addresses["api"], addresses["otlp_http"], process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    process.stdout.close()
