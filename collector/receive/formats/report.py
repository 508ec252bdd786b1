"""What reading a file gives, and what became of its records."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

_MOST_EXAMPLES = 20


class Record(NamedTuple):
    """One serialized ExportTraceServiceRequest, its spans, and where it came from (`a:line 3`, `a@1024`)."""

    body: bytes
    spans: int
    place: str


@dataclass
class FileReport:
    """One file: its format, what was stored of it, and what was skipped and why, with the first places."""

    name: str
    format: str = ""
    bodies: int = 0
    spans: int = 0
    """Stored, those in `refused` left out."""
    refused: Counter[str] = field(default_factory=Counter)
    """Spans that the store kept out, by reason."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Records that were not read or not stored, by reason."""
    examples: list[str] = field(default_factory=list)

    def skip(self, place: str, reason: str, detail: str = "") -> None:
        """Count a record as skipped; the first few are kept in words."""
        self.skipped[reason] += 1
        if len(self.examples) < _MOST_EXAMPLES:
            self.examples.append(f"{place}: {reason}{f' ({detail})' if detail else ''}")
