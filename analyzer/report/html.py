"""Documents as one HTML file that needs nothing else: no script, no address, light, dark and paper."""

from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from analyzer.report.document import Column, Document, Section, Table, verdict_of, written

_STYLE = Path(__file__).with_name("document.css")


def html(document: Document) -> str:
    """Write a document; every text from outside is escaped."""
    return "\n".join(_page(document)) + "\n"


@cache
def _style() -> str:
    return _STYLE.read_text("utf-8")


def _page(document: Document) -> Iterator[str]:
    title = escape(document.title)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{title}: {escape(document.subtitle)}</title>"
    yield f"<style>\n{_style()}</style>\n</head>\n<body>\n<main>"
    yield f"<header>\n<h1>{title}</h1>\n<p>{escape(document.subtitle)}</p>\n</header>"
    yield '<ul class="verdicts">'
    for good, said in document.verdicts:
        kind, word = _VERDICTS[good]
        yield f'<li class="{kind}"><strong>{word}</strong> {escape(said)}</li>'
    yield "</ul>"
    for section in document.sections:
        yield from _section(section)
    yield "</main>\n</body>\n</html>"


_VERDICTS = {True: ("good", "Kept"), False: ("bad", "Broken"), None: ("none", "Open")}


def _section(section: Section) -> Iterator[str]:
    yield f"<section>\n<h2>{escape(section.title)}</h2>"
    for sentence in section.sentences:
        yield f"<p>{escape(sentence)}</p>"
    for table in section.tables:
        yield from _table(table)
    if section.terms:
        yield "<dl>"
        for word, meaning in section.terms.items():
            yield f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>"
        yield "</dl>"
    yield "</section>"


def _table(table: Table) -> Iterator[str]:
    yield '<div class="wide"><table>'
    if table.caption:
        yield f"<caption>{escape(table.caption)}</caption>"
    heads = "".join(
        f'<th scope="col"{_class(column, None)}>{escape(column.title)}</th>' for column in table.columns
    )
    yield f"<thead><tr>{heads}</tr></thead>\n<tbody>"
    for row in table.rows:
        cells = "".join(
            _cell(value, column, first=number == 0)
            for number, (value, column) in enumerate(zip(row, table.columns, strict=True))
        )
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table></div>"


def _cell(value: Any, column: Column, first: bool) -> str:
    text = escape(written(value, column.kind))
    if first:
        return f'<th scope="row">{text}</th>'
    share = column.kind == "share" and value is not None and column.good_from is None
    bar = f' style="--share:{min(max(value, 0.0), 1.0):.4f}"' if share else ""
    return f"<td{_class(column, value, 'bar' if share else '')}{bar}>{text}</td>"


def _class(column: Column, value: Any, more: str = "") -> str:
    good = verdict_of(value, column)
    classes = [
        "" if column.kind == "text" else "number",
        "" if good is None else ("good" if good else "bad"),
        more,
    ]
    said = " ".join(name for name in classes if name)
    return f' class="{said}"' if said else ""
