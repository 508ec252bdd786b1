"""`pdscope serve` in a process of its own, to be killed; and what its store holds afterwards."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry

from analyzer.assemble.assembler import Assembler
from collector.journal import Journal
from collector.receive.metrics import ReceiveMetrics
from collector.receive.replay import replay_journal
from collector.store import Store
from tests.chaos.load import SPANS_PER_REQUEST, Tally
from tests.paths import PROJECT

_FREE = (
    "--api",
    "127.0.0.1:0",
    "--otlp-grpc",
    "127.0.0.1:0",
    "--otlp-http",
    "127.0.0.1:0",
    "--clickhouse-http",
    "off",
)


@dataclass(frozen=True)
class Served:
    """A running pdscope."""

    process: "subprocess.Popen[str]"
    port: int
    api: str

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()

    def kill(self) -> None:
        """As a power cut would, but for the disk's own cache."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def stop(self) -> None:
        """As an operator would."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


def serve(
    data: Path,
    *options: str,
    log: Path | None = None,
    program: Sequence[str] = ("-m", "analyzer.cli.main"),
    **environ: str,
) -> Served:
    """Start it; returns when it receives."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PDSCOPE_")}
    with open(log or os.devnull, "a") as errors:
        process = subprocess.Popen(
            [
                sys.executable,
                *program,
                "serve",
                "--json",
                "--data",
                str(data),
                *_FREE,
                *options,
            ],
            cwd=PROJECT,
            env={**kept, **environ},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout
    line = process.stdout.readline()
    assert line, f"pdscope did not start (exit code {process.wait(timeout=10)})"
    addresses = json.loads(line)
    return Served(process, int(addresses["otlp_grpc"].rpartition(":")[2]), addresses["api"])


def check_assembled(data: Path, tally: Tally, say: Callable[[str], object] = print) -> None:
    """Every acknowledged request is one assembled row of its four spans, however often they were stored."""
    store = Store.open(data)
    try:
        journal = Journal(data / "journal")
        waiting = replay_journal(journal, store, ReceiveMetrics(CollectorRegistry()))
        journal.close()
        Assembler(store).catch_up()
        rows = store.query(
            "SELECT request_id, spans, duplicate_spans FROM requests FINAL WHERE NOT tombstone"
        )
        rows_by_id: dict[str, list[tuple[int, int]]] = {}
        for request_id, spans, duplicates in rows:
            rows_by_id.setdefault(request_id, []).append((spans, duplicates))
        stored = int(store.query("SELECT count() FROM spans")[0][0])
    finally:
        store.close()
    missing = tally.acknowledged - rows_by_id.keys()
    twice = [name for name in tally.acknowledged if len(rows_by_id.get(name, ())) > 1]
    partial = [
        name
        for name in tally.acknowledged
        if any(spans != SPANS_PER_REQUEST for spans, _ in rows_by_id.get(name, ()))
    ]
    copies = sum(duplicates for found in rows_by_id.values() for _, duplicates in found)
    say(
        f"{waiting:,} bytes replayed at the end; "
        f"acknowledged {len(tally.acknowledged)} requests of {SPANS_PER_REQUEST} spans, "
        f"assembled {len(rows_by_id)}: missing {len(missing)}, twice {len(twice)}, not whole {len(partial)}; "
        f"span rows {stored}, of them copies {copies}; answers cut off {tally.cut}, refused {tally.refused}"
    )
    assert not missing
    assert not twice
    assert not partial
