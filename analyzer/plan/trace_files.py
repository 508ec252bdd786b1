"""Public trace files as workloads, arrivals kept as they are.

Azure: CSV with TIMESTAMP, ContextTokens, GeneratedTokens (Azure/AzurePublicDataset, 2023; CC-BY 4.0; Patel
et al., "Splitwise", ISCA 2024). Mooncake: JSON lines with timestamp (ms), input_length, output_length and
hash_ids, one per block of 512 prompt tokens (kvcache-ai/Mooncake, FAST25 release; Apache-2.0).
Neither holds latencies.
"""

import csv
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from analyzer.plan.errors import BadTrace
from analyzer.plan.provenance import Label
from analyzer.plan.workload import MAX_REQUESTS, MAX_TOKENS, Workload, from_rows

AZURE_COLUMNS = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]
MOONCAKE_BLOCK = 512
"""Prompt tokens one entry of `hash_ids` stands for."""

Row = tuple[float, int, int, int]


def read_trace(path: Path, *, prefix_cache: bool = True) -> Workload:
    """The workload in a trace file: Azure CSV (`.csv`) or Mooncake JSON lines (`.jsonl`).

    With `prefix_cache` the leading blocks of a Mooncake prompt seen in an earlier prompt count as cached:
    what a cache without limit would hold. Azure traces say nothing of prefixes. BadTrace names file and line.
    """
    readers = {".csv": _azure_rows, ".jsonl": _mooncake_rows}
    if path.suffix.lower() not in readers:
        raise BadTrace(f"{path}: unknown kind of trace; use an Azure .csv or a Mooncake .jsonl file")
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(_in_order(path, readers[path.suffix.lower()](path, lines)))
    except OSError as error:
        raise BadTrace(f"{path}: cannot be read: {error.strerror}") from error
    except csv.Error as error:
        raise BadTrace(f"{path}: is not CSV: {error}") from error
    except UnicodeDecodeError as error:
        raise BadTrace(f"{path}: is not UTF-8 text: {error.reason}") from error
    if not rows:
        raise BadTrace(f"{path}: holds no requests")
    if not prefix_cache:
        rows = [(at, prompt, output, 0) for at, prompt, output, _ in rows]
    start = rows[0][0]
    shifted = [(at - start, prompt, output, cached) for at, prompt, output, cached in rows]
    return from_rows(shifted, Label.OBSERVED, f"trace {path.name}, {len(rows)} requests")


def read_prefix_blocks(path: Path) -> list[list[int]]:
    """`hash_ids` of every row of a Mooncake file, which `read_trace` has accepted."""
    with path.open(encoding="utf-8-sig") as lines:
        rows = (json.loads(line) for line in lines if line.strip())
        return [_blocks(f"{path}: row {number}", row) for number, row in enumerate(rows, start=1)]


def _in_order(path: Path, rows: Iterable[tuple[int, Row]]) -> Iterator[Row]:
    """The rows, checked: tokens above 0 and believable, times that do not go back."""
    last = float("-inf")
    for count, (line, row) in enumerate(rows):
        at, prompt, output, _ = row
        if count == MAX_REQUESTS:
            raise BadTrace(f"{path}:{line}: more than {MAX_REQUESTS} requests; cut the file")
        if not 1 <= prompt <= MAX_TOKENS or not 1 <= output <= MAX_TOKENS:
            raise BadTrace(
                f"{path}:{line}: {prompt} prompt and {output} output tokens; each must be 1 to {MAX_TOKENS}"
            )
        if at < last:
            raise BadTrace(
                f"{path}:{line}: arrives {last - at:g} s before the line above; sort the file by time"
            )
        last = at
        yield row


def _azure_rows(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, Row]]:
    table = csv.reader(lines)
    header = next(table, [])
    if header != AZURE_COLUMNS:
        raise BadTrace(f"{path}:1: the header is {','.join(header)!r}; expected {','.join(AZURE_COLUMNS)}")
    for line in table:
        where = f"{path}:{table.line_num}"
        if len(line) != 3:
            raise BadTrace(f"{where}: {len(line)} columns; expected 3")
        prompt, output = (_whole(where, AZURE_COLUMNS[k], line[k]) for k in (1, 2))
        yield table.line_num, (_azure_seconds(where, line[0]), prompt, output, 0)


def _azure_seconds(where: str, text: str) -> float:
    """Seconds of a timestamp such as 2023-11-16 18:17:03.9799600; more digits than datetime takes."""
    whole, _, fraction = text.partition(".")
    try:
        at = datetime.strptime(whole, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
        if fraction and not (fraction.isascii() and fraction.isdigit()):
            raise ValueError(fraction)
        return at + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)
    except ValueError as error:
        raise BadTrace(f"{where}: TIMESTAMP is {text!r}; expected YYYY-MM-DD HH:MM:SS.fffffff") from error


def _whole(where: str, field: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise BadTrace(f"{where}: {field} is {text!r}; expected a whole number") from error


def _mooncake_rows(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, Row]]:
    seen: set[int] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            raw = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise BadTrace(f"{where}: is not a JSON object: {error}") from error
        if not isinstance(raw, dict):
            raise BadTrace(f"{where}: is {type(raw).__name__}, not a JSON object")
        at, prompt, output = (
            _number(where, raw, name) for name in ("timestamp", "input_length", "output_length")
        )
        blocks = _blocks(where, raw)
        cached = _cached(blocks, seen, int(prompt))
        seen.update(blocks)
        yield number, (at / 1000, int(prompt), int(output), cached)


def _number(where: str, raw: dict[str, Any], name: str) -> float:
    value = raw.get(name)
    whole = name == "timestamp" or isinstance(value, int)
    if isinstance(value, bool) or not isinstance(value, int | float) or not whole or not 0 <= value < 1e15:
        raise BadTrace(
            f"{where}: {name} is {value!r}; expected a {'' if name == 'timestamp' else 'whole '}number"
        )
    return value


def _blocks(where: str, raw: dict[str, Any]) -> list[int]:
    blocks = raw.get("hash_ids", [])
    if not isinstance(blocks, list) or not all(isinstance(block, int) for block in blocks):
        raise BadTrace(f"{where}: hash_ids is not a list of whole numbers")
    return blocks


def _cached(blocks: list[int], seen: set[int], prompt: int) -> int:
    """Tokens of the leading blocks seen before; the last token is always computed."""
    hits = next((k for k, block in enumerate(chain(blocks, [-1])) if block not in seen), len(blocks))
    return min(hits * MOONCAKE_BLOCK, prompt - 1) if prompt > 0 else 0
