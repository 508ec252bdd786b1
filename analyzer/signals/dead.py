"""Metrics that are exported and stand still while traffic flows."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

ENOUGH_POINTS = 4
"""Fewer readings can stand still by chance."""


@dataclass(frozen=True)
class DeadMetric:
    """A counter without an increase, or a gauge that read 0 throughout, on a worker that had traffic."""

    pool: str
    worker: str
    metric: str
    signal: str
    part: str
    value: float | None
    points: int


def dead_metrics(
    rows: Iterable[Mapping[str, Any]], busy: Collection[str] | None = None, must_move: Collection[str] = ()
) -> list[DeadMetric]:
    """Dead ones from rows of `sql/changes.sql`.

    busy: workers known to have had traffic; None: those on which another moving signal changed.
    must_move: signals that what is known to have happened must have moved (clients left:
    aborted_requests_total). A gauge that stands above 0 may be at its limit and is not called dead.
    """
    rows = list(rows)
    if busy is None:
        busy = {row["worker"] for row in rows if row["moves"] and row["changed"]}
    return [
        DeadMetric(
            row["pool"],
            row["worker"],
            row["metric"],
            row["signal"],
            row["part"],
            row["last_value"],
            row["points"],
        )
        for row in rows
        if not row["changed"]
        and row["points"] >= ENOUGH_POINTS
        and row["worker"] in busy
        and (row["moves"] or row["signal"] in must_move)
    ]
