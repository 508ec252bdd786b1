"""Documents as Markdown (GitHub's tables)."""

import re
from collections.abc import Iterator

from analyzer.report.document import Document, Section, Table, written

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&])")


def markdown(document: Document) -> str:
    """Write a document; names from telemetry are escaped, so that they stay text."""
    lines = [f"# {document.title}", "", _text(document.subtitle) + ".", ""]
    lines += [f"- {_mark(good)}{_text(said)}" for good, said in document.verdicts]
    for section in document.sections:
        lines += ["", *_section(section)]
    return "\n".join(lines) + "\n"


def _mark(good: bool | None) -> str:
    return "" if good is None else ("kept: " if good else "**broken**: ")


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    for sentence in section.sentences:
        yield from ("", _text(sentence))
    for table in section.tables:
        yield from ("", *_table(table))
    if section.terms:
        yield ""
        yield from (f"- **{word}**: {meaning}" for word, meaning in section.terms.items())


def _table(table: Table) -> Iterator[str]:
    if table.caption:
        yield from (f"{_text(table.caption)}:", "")
    yield _line(_text(column.title) for column in table.columns)
    yield _line("---" if column.kind == "text" else "---:" for column in table.columns)
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        yield _line(_text(written(value, column.kind)) for value, column in cells)


def _line(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Text that Markdown takes for nothing else; control characters are spaces."""
    return _SPECIAL.sub(r"\\\1", "".join(c if c.isprintable() else " " for c in text))
