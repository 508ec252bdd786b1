"""The requests a receipt was made from, to lie beside it: seven numbers each, no ids and no text.

CSV, one request a line in order of arrival, `plan.requests.csv.gz` beside `plan.json`. The receipt holds the
SHA-256 of the text, so that gzip's own choices do not matter.
"""

import gzip
import hashlib
from dataclasses import dataclass

from analyzer.plan.observed import Observed

COLUMNS = ("arrival_s", "prompt_tokens", "output_tokens", "cached_tokens", "ttft_s", "tpot_s", "met")
"""`met` 1 or 0; what was not measured, or does not count, is empty."""
SUFFIX = ".requests.csv"
"""Takes the place of the receipt's `.json`; `.gz` follows when it is packed."""


@dataclass(frozen=True, slots=True)
class RequestsFile:
    """The text of the file, and what a receipt says of it."""

    text: str
    rows: int

    @property
    def sha256(self) -> str:
        """Digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def packed(self) -> bytes:
        """The text, gzipped; the same bytes each time."""
        return gzip.compress(self.text.encode(), mtime=0)


def requests_file(observed: Observed) -> RequestsFile:
    """The file that holds `observed`; its arrivals can be read back to the last bit."""
    load = observed.workload
    met = [
        str(int(met)) if counts else "" for met, counts in zip(observed.met, observed.evaluated, strict=True)
    ]
    columns = (
        map(repr, load.arrival_s), map(str, load.prompt), map(str, load.output), map(str, load.cached),
        map(_seconds, observed.ttft.tolist()), map(_seconds, observed.tpot.tolist()), met,
    )  # fmt: skip
    lines = [",".join(COLUMNS), *map(",".join, zip(*columns, strict=True))]
    return RequestsFile("\n".join(lines) + "\n", len(load))


def _seconds(value: float) -> str:
    """To a nanosecond; empty for nan."""
    return "" if value != value else f"{value:.9f}"
