"""Pages of `docs/` that are made from tables in the code: written, or checked for drift."""

import argparse
import difflib
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path


def main(render: Callable[[], str], arguments: Sequence[str] | None = None) -> int:
    """Write a page to PATH. With --check only compare: print the difference, return 1 if there is one."""
    parser = argparse.ArgumentParser(description="Writes a page of the docs from a table in the code.")
    parser.add_argument("path", metavar="PATH", type=Path)
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 when PATH is stale")
    asked = parser.parse_args(arguments)
    page = render()
    if not asked.check:
        asked.path.write_text(page, encoding="utf-8")
        return 0
    there = asked.path.read_text(encoding="utf-8") if asked.path.exists() else ""
    sys.stdout.writelines(
        difflib.unified_diff(
            there.splitlines(True), page.splitlines(True), str(asked.path), "made from the code"
        )
    )
    return int(there != page)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; bars within cells are escaped."""
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
