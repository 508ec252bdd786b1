"""A directory in which a reader follows the pages: a running pdscope, and the files that commands name."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from analyzer.demo.capture import load
from tests.dashboards.programs import started, wait_for
from tests.docs.pages import blocks
from tests.paths import PROJECT

UNTIL = {
    "pdscope serve": "data ",
    "pdscope tap": "listen",
    "PDSCOPE_ALERT_POST=": "/alerts",
}
"""Commands that run until they are interrupted, and what they say once they do their work."""

ALONE = ("pdscope journal replay", "pdscope migrate")
"""Commands for a store that no process holds."""

HELD_STILL = ("tar --create",)
"""Commands for a store whose process is stopped; here it only holds still."""

MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "num_attention_heads": 64,
    "num_hidden_layers": 80,
    "num_key_value_heads": 8,
    "torch_dtype": "bfloat16",
}


@dataclass(frozen=True)
class Workspace:
    """Where commands are run, and what stands for the addresses and names that pages show."""

    folder: Path
    pid: int
    addresses: dict[str, str]
    key: str

    def run(self, line: str) -> "subprocess.CompletedProcess[str]":
        """Run a line of a page as a shell would; what runs on is interrupted once it works."""
        line = self._here(line)
        if word := next((said for start, said in UNTIL.items() if line.startswith(start)), None):
            return self._until(line, word)
        held = line.startswith(HELD_STILL)
        if held:
            os.kill(self.pid, signal.SIGSTOP)
        try:
            return subprocess.run(
                ["bash", "-c", line],
                cwd=self.folder,
                env=self._env(line),
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            if held:
                os.kill(self.pid, signal.SIGCONT)

    def _until(self, line: str, word: str) -> "subprocess.CompletedProcess[str]":
        # `exec`, so that the signal goes to the command and not to the shell.
        names, _, command = line.rpartition("pdscope ")
        process = subprocess.Popen(
            ["bash", "-c", f"{names} exec pdscope {command}"],
            cwd=self.folder,
            env={**self._env(line), "PDSCOPE_DATA": str(self.folder / "second-data")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout
        said = []
        for text in process.stdout:
            said.append(text)
            if word in text:
                process.send_signal(signal.SIGINT)
                break
        said += process.stdout.readlines()
        process.stdout.close()
        code = process.wait(timeout=300)
        found = any(word in text for text in said)
        return subprocess.CompletedProcess(line, code if found else 255, "".join(said), "")

    def _here(self, line: str) -> str:
        """Put this run's addresses, process and request in."""
        for shown, setting in (("8080", "api"), ("8123", "clickhouse_http"), ("4317", "otlp_grpc")):
            port = self.addresses[setting].rpartition(":")[2]
            line = line.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{port}")
        line = line.replace("--listen 127.0.0.1:8081", "--listen 127.0.0.1:0")
        if line.startswith("PDSCOPE_ALERT_POST="):
            line += " --listen 127.0.0.1:0"
        if line.startswith(ALONE):
            line = line.replace("--data pdscope-data", "--data other-data")
        line = re.sub(r"\b[0-9a-f]{32}\b|\bREQUEST_ID\b", self.key, line)
        return re.sub(r"\bPID\b", str(self.pid), line)

    def _env(self, line: str) -> dict[str, str]:
        free = {
            f"PDSCOPE_{name}": "127.0.0.1:0" for name in ("API", "OTLP_GRPC", "OTLP_HTTP", "CLICKHOUSE_HTTP")
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PDSCOPE_")}
        other = {"PDSCOPE_DATA": str(self.folder / "other-data")} if line.startswith(ALONE) else {}
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return {**kept, **free, **other, "PATH": path, "PYTHONPATH": str(PROJECT), "NO_PROXY": "127.0.0.1"}


@contextmanager
def workspace(folder: Path) -> Iterator[Workspace]:
    """Make one, with a pdscope that has received the beginning of a capture."""
    _files(folder)
    free = [
        part
        for name in ("api", "otlp-grpc", "otlp-http", "clickhouse-http")
        for part in (f"--{name}", "127.0.0.1:0")
    ]
    command = (sys.executable, "-m", "analyzer.cli.main", "serve", "--json", "--data", "pdscope-data", *free)
    with started(*command, cwd=folder) as served:
        line = wait_for(
            lambda: [text for text in served.lines if text.startswith("{")], 300, lambda: served.lines
        )
        addresses = json.loads(line[0])
        yield Workspace(folder, served.process.pid, addresses, _a_request(addresses))


def _files(folder: Path) -> None:
    (folder / "bin").mkdir()
    command = folder / "bin/pdscope"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m analyzer.cli.main "$@"\n')
    command.chmod(0o755)
    (folder / "deploy").symlink_to(PROJECT / "deploy")
    (folder / "config.json").write_text(json.dumps(MODEL))
    (example,) = [block for block in blocks(PROJECT / "README.md", "yaml") if block.startswith("objectives:")]
    (folder / "slo.yaml").write_text(example)
    (folder / "pdscope.yaml").write_text("slo: slo.yaml\n")
    for name in ("capture.otlp.gz", "otlp_traces.bin"):
        (folder / name).write_bytes(gzip.compress(_capture()))


def _capture() -> bytes:
    """The beginning of a capture: exports put together are one export."""
    return b"".join(export.body for export in load("vllm").exports[:60])


def _a_request(addresses: dict[str, str]) -> str:
    body = _capture()
    headers = {"Content-Type": "application/x-protobuf"}
    httpx.post(
        f"{addresses['otlp_http']}/v1/traces", content=body, headers=headers, timeout=60
    ).raise_for_status()
    asked = {"from": "0", "to": "4000000000"}
    listed = wait_for(
        lambda: httpx.get(f"{addresses['api']}/api/v1/requests", params=asked).json()["requests"], 300
    )
    return str(listed[0]["key"])
