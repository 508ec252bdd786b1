"""The requests that lie beside a receipt, read again: numbers only, in order, the ones that were sealed."""

import gzip
import hashlib
import io
import re
import zlib
from dataclasses import dataclass

from analyzer.plan.findings import Findings
from analyzer.plan.plain_loop import Row
from analyzer.plan.receipt_model import MAX_CARRIED, Receipt, StoredSource

HEADER = "arrival_s,prompt_tokens,output_tokens,cached_tokens,ttft_s,tpot_s,met"
MAX_BYTES = 64 << 20
"""Largest file taken, packed or not: far above MAX_CARRIED lines, far below what fills a memory."""
_ARRIVAL = re.compile(r"\d{1,12}(\.\d{1,20})?(e-?\d{1,2})?", re.ASCII)
_TOKENS = re.compile(r"\d{1,8}", re.ASCII)
_MEASURED = re.compile(r"(\d{1,9}\.\d{9})?,(\d{1,9}\.\d{9})?,[01]?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was observed of a request; None: not measured, or it does not count."""

    ttft_s: float | None
    tpot_s: float | None
    met: bool | None


@dataclass(frozen=True, slots=True)
class Carried:
    """The requests beside a receipt."""

    sha256: str
    rows: list[Row]
    measured: list[Measured]


def carried(receipt: Receipt, content: bytes | None, findings: Findings) -> Carried | None:
    """The requests in `content`, which must be those the receipt names; None without a name or content."""
    sources = [w.source for w in receipt.workloads if isinstance(w.source, StoredSource)]
    named = {source.requests.sha256: source.requests.rows for source in sources if source.requests}
    if content is None or not named:
        return None
    try:
        text = unpacked(content)
        sealed = hashlib.sha256(text).hexdigest()
        if sealed not in named:
            raise ValueError("is not the one the receipt names")
        rows, measured = _rows(text.decode())
        if len(rows) != named[sealed]:
            raise ValueError(f"holds {len(rows)} requests; the receipt says {named[sealed]}")
    except ValueError as error:
        findings.problems.append(f"requests: the file {error}")
        return None
    findings.checked.append(f"{len(rows)} requests carried")
    return Carried(sealed, rows, measured)


def unpacked(content: bytes) -> bytes:
    """The text of a file that may be gzipped. ValueError when it is damaged or too large."""
    if not content.startswith(b"\x1f\x8b"):
        text = content
    else:
        try:
            with gzip.open(io.BytesIO(content)) as stream:
                text = stream.read(MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"is not gzip: {error}") from error
    if len(text) > MAX_BYTES:
        raise ValueError(f"is larger than {MAX_BYTES >> 20} MiB")
    return text


def _rows(text: str) -> tuple[list[Row], list[Measured]]:
    header, *lines = text.splitlines() or [""]
    if header != HEADER:
        raise ValueError(f"has the header {header[:80]!r}; expected {HEADER}")
    rows: list[Row] = []
    measured: list[Measured] = []
    last = 0.0
    for number, cells in enumerate(lines, start=2):
        line = cells.split(",", 4)
        if number - 1 > MAX_CARRIED:
            raise ValueError(f"holds more than {MAX_CARRIED:,} requests")
        if len(line) != 5 or not _ARRIVAL.fullmatch(line[0]) or not all(map(_TOKENS.fullmatch, line[1:4])):
            raise ValueError(f"line {number}: is not an arrival and three whole numbers of tokens")
        if not _MEASURED.fullmatch(line[4]):
            raise ValueError(f"line {number}: its measured seconds and verdict are not numbers")
        at, prompt, output, cached = float(line[0]), *map(int, line[1:4])
        if at < last:
            raise ValueError(f"line {number}: arrives before the line above")
        if prompt < 1 or output < 1 or cached >= prompt:
            raise ValueError(
                f"line {number}: {prompt} prompt, {output} output, {cached} cached tokens; a request has a "
                "prompt that is not all cached, and an output"
            )
        last = at
        rows.append((at, prompt, output, cached))
        ttft, tpot, met = line[4].split(",")
        measured.append(
            Measured(
                float(ttft) if ttft else None, float(tpot) if tpot else None, met == "1" if met else None
            )
        )
    return rows, measured
