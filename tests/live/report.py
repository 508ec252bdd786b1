"""What a live run saw, as Markdown: printed as it comes, and kept."""

import json
from pathlib import Path
from typing import Any


class Report:
    """Lines under headings; each is written at once, so that a run that breaks leaves what it saw."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def heading(self, text: str) -> None:
        self._write(f"\n## {text}\n")

    def line(self, text: str) -> None:
        self._write(f"- {text}")

    def diagnosis(self, answer: dict[str, Any]) -> None:
        """The parts of a `/diagnosis` that tell its story."""
        self.line(f"`/diagnosis`: {answer['summary']}")
        counts = {name: count for name, count in answer["requests"].items() if count}
        self.line(f"requests {json.dumps(counts)}, dominant cause `{answer['dominant_cause']}`")
        for cause in answer["causes"]:
            self.line(f"cause `{cause['cause']}`: {cause['requests']:g} requests")
        for finding in answer["findings"]:
            self.line(f"finding `{finding['finding']}`: {finding['detail']}")

    def _write(self, text: str) -> None:
        print(text, flush=True)
        with self.path.open("a") as file:
            file.write(text + "\n")
