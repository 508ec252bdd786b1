"""Pairs of windows of multi-window multi-burn-rate alerts (Google, The Site Reliability Workbook, chapter 5).

A pair fires when a given part of the error budget was spent within its long window, and its short one says
that it still is. For a period of 30 days: 1 h/5 m × 14.4, 6 h/30 m × 6, 1 d/2 h × 3, 3 d/6 h × 1. For another
period the windows scale with it, so that the part of the budget, and thus the urgency, stays.
"""

from dataclasses import dataclass
from decimal import Decimal

MINUTE, HOUR, DAY = 60, 3600, 86400
SHORTEST_LONG_S = 5 * MINUTE
SHORTEST_SHORT_S = MINUTE
"""Below these, a rate rests on a handful of scrapes."""


@dataclass(frozen=True)
class _Shape:
    """A pair for 30 days: long window (s), part of the budget it spends, severity."""

    long_s: int
    spends: Decimal
    severity: str


_SHAPES = (
    _Shape(HOUR, Decimal("0.02"), "page"),
    _Shape(6 * HOUR, Decimal("0.05"), "page"),
    _Shape(DAY, Decimal("0.1"), "ticket"),
    _Shape(3 * DAY, Decimal("0.1"), "ticket"),
)
_SHORT_PART = 12


@dataclass(frozen=True)
class Pair:
    """Windows in seconds and the burn rate that both must exceed."""

    number: int
    long_s: int
    short_s: int
    factor: Decimal
    spends: Decimal
    severity: str


def pairs(period_days: int, shorten: int = 1) -> tuple[Pair, ...]:
    """Return the pairs of a period, the most urgent first.

    shorten divides the windows, not the factors: for trying rules out in minutes instead of hours.
    """
    period_s = period_days * DAY
    found: list[Pair] = []
    for number, shape in enumerate(_SHAPES, start=1):
        long_s = max(SHORTEST_LONG_S, _whole_minutes(shape.long_s * period_days / 30))
        if any(long_s <= other.long_s for other in found):
            # Clamped onto a more urgent pair, which already tells.
            continue
        short_s = max(SHORTEST_SHORT_S, _whole_minutes(long_s / _SHORT_PART))
        factor = (shape.spends * period_s / long_s).quantize(Decimal("0.0001"))
        found.append(Pair(number, long_s, short_s, factor, shape.spends, shape.severity))
    return tuple(
        Pair(
            pair.number,
            max(2, pair.long_s // shorten),
            max(1, pair.short_s // shorten),
            pair.factor,
            pair.spends,
            pair.severity,
        )
        for pair in found
    )


def _whole_minutes(seconds: float) -> int:
    return round(seconds / MINUTE) * MINUTE


def duration(seconds: int) -> str:
    """Prometheus's way to write a length of time, in its largest whole unit."""
    for unit, size in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def spoken(seconds: int) -> str:
    """A length of time for people: '6 h'."""
    text = duration(seconds)
    return f"{text[:-1]} {'min' if text[-1] == 'm' else text[-1]}"
