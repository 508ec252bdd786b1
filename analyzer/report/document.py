"""A document before it is written in a format: titles, sentences and tables of values with their kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from analyzer.cli.words import duration, fraction

Kind = Literal["text", "count", "share", "seconds", "rate", "factor", "amount"]
"""share: a fraction, drawn as a bar where a format can; factor: a burn rate; amount: of any size."""

UNKNOWN = "–"


@dataclass(frozen=True)
class Column:
    """A column; `good_below` or `good_from` mark values of that side as good and the others as bad."""

    title: str
    kind: Kind = "text"
    good_from: float | None = None
    good_below: float | None = None


@dataclass(frozen=True)
class Table:
    """Rows of values, None where unknown."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A heading, sentences, tables; `terms` are words with what they mean."""

    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    terms: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """A whole document; `verdicts` are (good, sentence) pairs that stand at its head; None: neither."""

    title: str
    subtitle: str
    verdicts: Sequence[tuple[bool | None, str]]
    sections: Sequence[Section]


def written(value: Any, kind: Kind) -> str:
    """Write a value for people."""
    return UNKNOWN if value is None else _WRITERS[kind](value)


def verdict_of(value: Any, column: Column) -> bool | None:
    """Whether a value is on the good side of its column; None when it has none."""
    if value is None:
        return None
    if column.good_from is not None:
        return bool(value >= column.good_from)
    return None if column.good_below is None else bool(value < column.good_below)


def amount(value: float) -> str:
    """A number of any size in at most four digits, with the SI prefix that suits it."""
    for factor, prefix in ((1e15, " P"), (1e12, " T"), (1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= factor:
            scaled = value / (1e3 if prefix == " k" else factor)
            return f"{scaled:.4g}{prefix}"
    return f"{value:,.0f}" if value == int(value) else f"{value:.4g}"


_WRITERS: Mapping[Kind, Callable[[Any], str]] = {
    "text": str,
    "count": lambda value: f"{value:,}",
    "share": fraction,
    "seconds": duration,
    "rate": lambda value: f"{value:.3g}/s",
    "factor": lambda value: f"{value:.3g}",
    "amount": amount,
}
