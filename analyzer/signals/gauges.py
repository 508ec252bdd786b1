"""Levels over time: what a worker's gauges read, carried forward until they are stale."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

STALE_AFTER_S = 60.0
"""A reading older than this says nothing about now: six times the usual scrape interval of 10 s."""


@dataclass(frozen=True)
class Level:
    """A gauge over a window: time-weighted mean, extremes, and the seconds it was known."""

    mean: float
    low: float
    high: float
    known_s: float


@dataclass(frozen=True)
class Gauge:
    """One signal of one worker; times in Unix nanoseconds, ascending."""

    pool: str
    worker: str
    model: str
    signal: str
    part: str
    metric: str
    times_ns: tuple[int, ...]
    values: tuple[float, ...]

    def at(self, time_ns: int, stale_after_s: float = STALE_AFTER_S) -> float | None:
        """The last reading at or before `time_ns`; None before the first and when it is stale."""
        index = bisect_right(self.times_ns, time_ns) - 1
        if index < 0 or time_ns - self.times_ns[index] > stale_after_s * 1e9:
            return None
        return self.values[index]

    def over(self, from_ns: int, to_ns: int, stale_after_s: float = STALE_AFTER_S) -> Level | None:
        """The level over a window; None when no reading is known in it."""
        stale_ns = int(stale_after_s * 1e9)
        weighted, known = 0.0, 0
        seen: list[float] = []
        for index, (time_ns, value) in enumerate(zip(self.times_ns, self.values, strict=True)):
            last = index + 1 == len(self.times_ns)
            until = time_ns + stale_ns if last else min(self.times_ns[index + 1], time_ns + stale_ns)
            held = min(until, to_ns) - max(time_ns, from_ns)
            if held > 0:
                weighted += value * held
                known += held
                seen.append(value)
        return Level(weighted / known, min(seen), max(seen), known / 1e9) if known else None

    @property
    def last_ns(self) -> int:
        """When it was last read."""
        return self.times_ns[-1]


def gauges(rows: Iterable[Mapping[str, Any]], stale_after_s: float = STALE_AFTER_S) -> list[Gauge]:
    """One gauge per worker, signal and part from rows of `sql/gauges.sql`.

    Several series of one worker (data-parallel engines) become one: counts add up, fractions are averaged,
    ages take the oldest, health the worst.
    """

    def key(row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in ("pool", "worker", "model", "signal", "part", "metric"))

    out = []
    for name, members in groupby(sorted(rows, key=key), key=key):
        pool, worker, model, signal, part, metric = name
        readings = sorted((int(row["time_ns"]), int(row["series"]), float(row["value"])) for row in members)
        times, values = _as_one(readings, _combine(signal), int(stale_after_s * 1e9))
        out.append(Gauge(pool, worker, model, signal, part, metric, times, values))
    return out


def _combine(signal: str) -> Callable[[Sequence[float]], float]:
    if signal.endswith("_fraction"):
        return lambda values: sum(values) / len(values)
    if signal in ("up", "pod_ready"):
        return min
    if signal in ("oldest_request_age", "process_start_time"):
        return max
    return sum


def _as_one(
    readings: Sequence[tuple[int, int, float]], combine: Callable[[Sequence[float]], float], stale_ns: int
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    held: dict[int, tuple[int, float]] = {}
    times: list[int] = []
    values: list[float] = []
    for time_ns, at_once in groupby(readings, key=lambda reading: reading[0]):
        held.update((series, (time_ns, value)) for _, series, value in at_once)
        held = {series: item for series, item in held.items() if time_ns - item[0] <= stale_ns}
        times.append(time_ns)
        values.append(combine([value for _, value in held.values()]))
    return tuple(times), tuple(values)
