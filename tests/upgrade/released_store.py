"""Stores as released versions left them, and what they answered.

`python -m tests.upgrade.released_store VERSION` is run once per release, on its own code; what it writes
is committed and never made again. Only a schema that changes before its release is made anew.
"""

import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from analyzer.cli.process import Process
from analyzer.client import Client
from analyzer.demo.capture import load
from collector.settings import Address, Settings

RELEASED = Path(__file__).parent / "released"
EXPORTS = 60
WINDOW = {"from": "0", "to": "4000000000"}
OBJECTIVE = {"ttft": "0.5", "tpot": "0.02"}
KEPT = (
    *("key", "request_id", "trace_id", "started_at", "ttft", "tpot", "e2e", "outcome", "input_tokens"),
    *("output_tokens", "prefill_worker", "decode_worker", "exposed"),
)
COUNTED = ("evaluated", "met", "missed")

Answers = dict[str, Any]


@contextmanager
def opened(data: Path) -> Iterator[Process]:
    """pdscope on a directory, without listeners, and without letting old rows go."""
    process = Process(replace(Settings(), data=data, api=Address("127.0.0.1", 0)), receive=False)
    process.start()
    try:
        yield process
    finally:
        process.stop()


def answers(process: Process) -> Answers:
    """What a release must go on answering of complete requests that it stored."""
    client = Client(process.url)
    listed = [one for one in client.get("/requests", limit=1000, **WINDOW)["requests"] if one["complete"]]
    requests = {one["key"]: {name: one[name] for name in KEPT} for one in listed}
    some = sorted(requests)[:3]
    slo = client.get("/slo", **WINDOW, **OBJECTIVE)["objectives"]
    return {
        "requests": requests,
        "intervals": {key: client.get(f"/requests/{key}")["intervals"] for key in some},
        "accounting": {item["name"]: {name: item["requests"][name] for name in COUNTED} for item in slo},
    }


def make(version: str) -> None:
    """Write a store of the running code and its answers."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        with opened(data) as process:
            process._store.insert_traces([export.body for export in load("vllm").exports[:EXPORTS]])
            process.settle()
            said = answers(process)
        with tarfile.open(RELEASED / f"{version}.tar.xz", "w:xz") as tar:
            tar.add(data, "data")
    (RELEASED / f"{version}.json").write_text(json.dumps(said, indent=1, sort_keys=True) + "\n")


def unpack(version: str, folder: Path) -> Path:
    """The data directory that a release left, in `folder`."""
    with tarfile.open(RELEASED / f"{version}.tar.xz") as tar:
        tar.extractall(folder, filter="data")
    return folder / "data"


if __name__ == "__main__":
    make(sys.argv[1])
