"""The requests a receipt was made from, to lie beside it: four numbers each, no ids and no text.

CSV, one request a line in order of arrival, `plan.requests.csv.gz` beside `plan.json`. The receipt holds the
SHA-256 of the text, so that gzip's own choices do not matter.
"""

import gzip
import hashlib
from dataclasses import dataclass

from analyzer.plan.workload import Workload

COLUMNS = ("arrival_s", "prompt_tokens", "output_tokens", "cached_tokens")
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


def requests_file(workload: Workload) -> RequestsFile:
    """The file that holds `workload`; its arrivals can be read back to the last bit."""
    rows = zip(workload.arrival_s, workload.prompt, workload.output, workload.cached, strict=True)
    lines = [
        ",".join(COLUMNS),
        *(f"{at!r},{prompt},{output},{cached}" for at, prompt, output, cached in rows),
    ]
    return RequestsFile("\n".join(lines) + "\n", len(workload))
