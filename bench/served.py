"""A `pdscope serve` of its own to load, and what it takes of the machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_LISTEN = ("--api", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0")


class Served:
    """Runs on a data directory until stopped."""

    def __init__(self, directory: str, *options: str):
        command = [
            sys.executable,
            "-m",
            "analyzer.cli.main",
            "serve",
            "--json",
            "--data",
            directory,
            *options,
        ]
        self._process = subprocess.Popen(
            [*command, *_LISTEN, "--clickhouse-http", "off"], cwd=_ROOT, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout
        said = json.loads(self._process.stdout.readline())
        self.api: str = said["api"]
        self.grpc_port = int(said["otlp_grpc"].rpartition(":")[2])

    def cpu_s(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        """Memory in use now."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        """As an operator would."""
        self._process.terminate()
        self._process.wait(60)
