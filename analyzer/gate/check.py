"""The shape of one thing that is checked, and what is found of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Fact = float | int | str | None


class Status(StrEnum):
    """What the data says of a check."""

    SHOWN = "shown"
    FAILED = "failed"
    """The data shows the opposite."""
    NOT_SHOWN = "not_shown"
    """Nothing says so, or not enough does; never assumed."""
    WAIVED = "waived"
    """Not shown, and whoever asked takes that upon themselves."""


@dataclass(frozen=True)
class Check:
    """One line: what it asks, what was found, the facts behind it and where they were read."""

    line: str
    title: str
    status: Status
    answer: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    source: str = "store"


def shown(
    line: str,
    title: str,
    ok: bool,
    answer: str,
    facts: Mapping[str, Fact] | None = None,
    source: str = "store",
) -> Check:
    """A check that the data decides."""
    return Check(line, title, Status.SHOWN if ok else Status.FAILED, answer, facts or {}, source)


def not_shown(
    line: str, title: str, answer: str, facts: Mapping[str, Fact] | None = None, source: str = "store"
) -> Check:
    """A check that the data does not decide."""
    return Check(line, title, Status.NOT_SHOWN, answer, facts or {}, source)
