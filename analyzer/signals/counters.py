"""What counters grew by in a window, per worker."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Increase:
    """What one worker's counter grew by; `value` is None when only its first reading is known.

    seconds: time the increase covers. unknown_steps: readings without a known increase (a first one whose
    start is not told). resets: restarts seen, each counted from zero.
    """

    pool: str
    worker: str
    model: str
    signal: str
    part: str
    metric: str
    value: float | None
    seconds: float
    unknown_steps: int
    resets: int
    first_ns: int
    last_ns: int

    @property
    def rate(self) -> float | None:
        """Per second."""
        return self.value / self.seconds if self.value is not None and self.seconds > 0 else None


def increases(rows: Iterable[Mapping[str, Any]]) -> list[Increase]:
    """From rows of `sql/increases.sql`."""
    return [
        Increase(
            row["pool"],
            row["worker"],
            row["model"],
            row["signal"],
            row["part"],
            row["metric"],
            row["increase"],
            row["series_seconds"] / row["series_count"],
            row["unknown_steps"],
            row["resets"],
            row["first_ns"],
            row["last_ns"],
        )
        for row in rows
    ]


def total(found: Iterable[Increase]) -> float | None:
    """Sum of the known increases; None when none is known."""
    known = [item.value for item in found if item.value is not None]
    return sum(known) if known else None
