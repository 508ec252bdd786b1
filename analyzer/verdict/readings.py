"""Gauges of workers over time, as arrays: what one read at an instant, and on average."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analyzer.occupancy import groups
from analyzer.verdict.tables import Codes, Floats

SIGNALS: tuple[str, ...] = (
    "queue_depth",
    "running",
    "kv_used_fraction",
    "kv_capacity_tokens",
    "kv_capacity_blocks",
    "kv_block_tokens",
    "requests_in_flight",
    "oldest_request_age",
    "gpu_busy_fraction",
    "up",
    "pod_ready",
)
"""Gauges that verdicts read."""
SERVING = ("queue_depth", "running", "kv_used_fraction")
"""Of these, what an engine that serves a model tells."""
ROLES = ("", "prefill", "decode", "router", "colocated")
STALE_AFTER_S = 60.0
"""A reading older than this says nothing: six times the usual scrape interval of 10 s."""


@dataclass(frozen=True)
class Series:
    """Readings of one signal of one worker, in order of time (seconds from origin)."""

    role: str
    at: Floats
    value: Floats
    model: int = 0
    """Code of the model that the gauge names; 0 where it names none."""

    def read(self, at: Floats) -> Floats:
        """The last reading at or before each instant; nan before the first and when it is stale."""
        index = np.searchsorted(self.at, at, side="right") - 1
        held = np.where(index >= 0, self.value[np.maximum(index, 0)], np.nan)
        age = at - self.at[np.maximum(index, 0)]
        return np.where(age <= STALE_AFTER_S, held, np.nan)

    @property
    def mean(self) -> float:
        """Average over the readings."""
        return float(self.value.mean())

    @property
    def high(self) -> float:
        """Highest reading in the window; of all where none lies in it."""
        inside = self.value[self.at >= 0.0]
        return float(inside.max() if len(inside) else self.value.max())


class Readings:
    """All gauges of a window."""

    def __init__(self, columns: Mapping[str, np.ndarray], parts: Mapping[str, int]):
        """columns: of levels.sql. parts: codes of the parts of a signal that are asked for by name."""
        self._series: dict[tuple[str, int, int], Series] = {}
        self._parts = dict(parts)
        if not columns or not len(columns["at"]):
            return
        signal, worker, part = columns["signal"], columns["worker"], columns["part"]
        change = (np.diff(signal.astype(np.int64)) != 0) | (np.diff(worker) != 0) | (np.diff(part) != 0)
        edges = [0, *(np.flatnonzero(change) + 1).tolist(), len(signal)]
        for first, last in pairwise(edges):
            key = (SIGNALS[int(signal[first])], int(worker[first]), int(part[first]))
            role = ROLES[int(columns["pool"][first])]
            at = columns["at"][first:last].astype(np.float64)
            value = columns["value"][first:last].astype(np.float64)
            self._series[key] = Series(role, at, value, int(columns["model"][first]))

    def series(self, signal: str, worker: int, part: str = "") -> Series | None:
        """Readings of one worker; None when it sends none."""
        return self._series.get((signal, worker, self._parts.get(part, -1)))

    def workers(self, signal: str, role: str = "", part: str = "") -> list[int]:
        """Codes of the workers that send a signal."""
        code = self._parts.get(part, -1)
        return [
            worker
            for (name, worker, of), series in self._series.items()
            if name == signal and of == code and role in ("", series.role)
        ]

    def of_pool(self, role: str, models: Codes) -> Codes:
        """Codes of the workers whose gauges say that they serve one of the models in this role."""
        chosen = [
            worker
            for (signal, worker, _), series in self._series.items()
            if signal in SERVING and series.role == role and series.model and series.model in models
        ]
        return np.unique(np.array(chosen, np.uint64))

    def read(self, signal: str, workers: Codes, at: Floats, part: str = "") -> Floats:
        """Reading of each worker at each instant; nan where there is none."""
        out = np.full(len(at), np.nan)
        for worker, members in groups(workers):
            series = self.series(signal, worker, part)
            if series is not None:
                out[members] = series.read(at[members])
        return out

    def pool_mean(self, signal: str, workers: Sequence[int], part: str = "") -> float | None:
        """Average over the readings of some workers; None when none sends it."""
        means = [s.mean for w in workers if (s := self.series(signal, w, part)) is not None]
        return float(np.mean(means)) if means else None

    def has(self, signal: str) -> bool:
        """Whether any worker sends a signal."""
        return any(name == signal for name, _, _ in self._series)

    def begin(self, signal: str, worker: int) -> float:
        """Instant of a worker's first reading; inf without any."""
        series = self.series(signal, worker)
        return np.inf if series is None else float(series.at[0])

    def earliest(self) -> float:
        """Instant of the oldest reading; inf without any."""
        return min((float(s.at[0]) for s in self._series.values()), default=np.inf)

    def latest(self) -> float:
        """Instant of the newest reading; -inf without any."""
        return max((float(s.at[-1]) for s in self._series.values()), default=-np.inf)
