"""One observation behind a verdict."""

from dataclasses import dataclass

import numpy as np

from analyzer.verdict.tables import Flags, Floats


@dataclass(frozen=True)
class Evidence:
    """A named value with its unit, when (seconds from origin; None: over the window) and how it is known."""

    signal: str
    value: float
    unit: str
    source: str = "observed"
    at: float | None = None


def median(
    signal: str, values: Floats, chosen: Flags, unit: str = "s", source: str = "observed"
) -> list[Evidence]:
    """Median of the chosen finite values; nothing when there is none."""
    known = values[chosen & np.isfinite(values)]
    return [Evidence(signal, float(np.median(known)), unit, source)] if len(known) else []


def count(signal: str, chosen: Flags, unit: str = "requests") -> list[Evidence]:
    """How many; nothing when there are none."""
    number = int(chosen.sum())
    return [Evidence(signal, float(number), unit)] if number else []


def number(signal: str, value: float | None, unit: str, source: str = "observed") -> list[Evidence]:
    """A value that may not be known."""
    known = value is not None and np.isfinite(value)
    return [Evidence(signal, float(value), unit, source)] if known and value is not None else []
