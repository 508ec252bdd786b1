"""Which signals exist, per pool and worker."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Present:
    """A signal that arrives: from which metric of which system, how often and when last."""

    pool: str
    worker: str
    signal: str
    part: str
    metric: str
    dialect: str
    points: int
    last_ns: int


def present(rows: Iterable[Mapping[str, Any]]) -> list[Present]:
    """From rows of `sql/present.sql`."""
    names = ("pool", "worker", "signal", "part", "metric", "dialect", "points", "last_ns")
    return [Present(**{name: row[name] for name in names}) for row in rows]


def missing(found: Iterable[Present], wanted: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """(pool, signal) pairs of `wanted` (pool -> signals) that no worker of the pool sends."""
    have = {(item.pool, item.signal) for item in found}
    return [(pool, name) for pool, names in wanted.items() for name in names if (pool, name) not in have]
