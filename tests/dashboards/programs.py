"""Starts real programs for a test and ends just those."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.paths import PROJECT


def free_port() -> int:
    """A loopback port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Program:
    """A running program and the lines it printed."""

    def __init__(self, process: "subprocess.Popen[str]"):
        self.process = process
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def end(self) -> None:
        """Ask it to end, and make it if it does not."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(timeout=5)
        assert self.process.stdout
        self.process.stdout.close()


@contextmanager
def started(*command: object, cwd: Path = PROJECT, env: Mapping[str, str] | None = None) -> Iterator[Program]:
    """Run a program of this machine until the block ends; `env` is added to the caller's environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PDSCOPE_")}
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        env={**kept, "PYTHONPATH": str(PROJECT), **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    program = Program(process)
    try:
        yield program
    finally:
        program.end()


def pdscope(*arguments: object) -> Any:
    """Run `pdscope` until the block ends."""
    return started(sys.executable, "-m", "analyzer.cli.main", *arguments)


def debian(name: str, *arguments: object, cwd: Path) -> Any:
    """Run a program that tests/install-prometheus.sh brings."""
    path = shutil.which(name)
    assert path, f"{name} is missing: run tests/install-prometheus.sh"
    return started(path, *arguments, cwd=cwd)


def wait_for(what: Callable[[], Any], seconds: float, why: Callable[[], object] = lambda: "") -> Any:
    """Return what `what` returns once it is true; fails with `why()` when it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if found := what():
                return found
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"waited {seconds:g} s in vain: {why()}")
