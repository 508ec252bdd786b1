"""What is to be sent when: arrivals and lengths of a trace file or of a store, kept as they are."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from analyzer.plan.trace_files import read_prefix_blocks, read_trace
from analyzer.replay.errors import BadReplay


@dataclass(frozen=True, slots=True)
class Planned:
    """One request: seconds from the start, tokens, and the prefix blocks (Mooncake's hashes)."""

    number: int
    at_s: float
    prompt: int
    output: int
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Schedule:
    """Requests in order of time, and where they come from."""

    kind: str
    """`azure`, `mooncake` or `store`."""
    name: str
    sha256: str | None
    first: int
    planned: list[Planned]
    left_out: int = 0
    """Requests of the source whose lengths are not known."""

    @property
    def span_s(self) -> float:
        """Seconds from the first to the last arrival."""
        return self.planned[-1].at_s if self.planned else 0.0


def of_trace(path: Path, first: int = 0, count: int | None = None) -> Schedule:
    """The schedule of an Azure `.csv` or a Mooncake `.jsonl`. Raises BadTrace, BadReplay."""
    workload = read_trace(path, prefix_cache=False)
    kind = "mooncake" if path.suffix.lower() == ".jsonl" else "azure"
    blocks = read_prefix_blocks(path) if kind == "mooncake" else [()] * len(workload)
    rows = zip(workload.arrival_s, workload.prompt, workload.output, blocks, strict=True)
    planned = [Planned(k, at, prompt, output, tuple(of)) for k, (at, prompt, output, of) in enumerate(rows)]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Schedule(kind, path.name, digest, first, _cut(planned, first, count, path.name))


def of_requests(
    requests: Iterable[Mapping[str, Any]], name: str, first: int = 0, count: int | None = None
) -> Schedule:
    """The schedule of requests as REST lists them; those whose lengths are not known are left out."""
    known, left_out = [], 0
    for item in requests:
        if item["input_tokens"] and item["output_tokens"]:
            started = datetime.fromisoformat(str(item["started_at"]).replace("Z", "+00:00"))
            known.append((started.timestamp(), int(item["input_tokens"]), int(item["output_tokens"])))
        else:
            left_out += 1
    known.sort()
    planned = [Planned(k, at - known[0][0], prompt, output) for k, (at, prompt, output) in enumerate(known)]
    return Schedule("store", name, None, first, _cut(planned, first, count, name), left_out)


def _cut(planned: list[Planned], first: int, count: int | None, name: str) -> list[Planned]:
    """`count` requests from the `first` on, moved to begin at 0."""
    chosen = planned[first:] if count is None else planned[first : first + count]
    if not chosen:
        raise BadReplay(
            f"{name}: no request from number {first} on; it has {len(planned)} with known lengths"
        )
    start = chosen[0].at_s
    return [Planned(p.number, p.at_s - start, p.prompt, p.output, p.blocks) for p in chosen]
