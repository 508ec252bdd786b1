"""How many intervals cover an instant, and on average a stretch of time, for each worker; exactly, in
O(log n).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.uint64]


@dataclass(frozen=True)
class _Line:
    """Intervals of one worker: starts and ends in order, with running sums of weights and weighted times."""

    starts: Floats
    start_weight: Floats
    start_moment: Floats
    ends: Floats
    end_weight: Floats
    end_moment: Floats

    def level(self, at: Floats) -> Floats:
        begun = np.searchsorted(self.starts, at, side="right")
        over = np.searchsorted(self.ends, at, side="right")
        return self.start_weight[begun] - self.end_weight[over]

    def integral(self, at: Floats) -> Floats:
        """Integral of the level from the beginning of time to `at`."""
        begun = np.searchsorted(self.starts, at, side="right")
        over = np.searchsorted(self.ends, at, side="right")
        risen = self.start_weight[begun] * at - self.start_moment[begun]
        fallen = self.end_weight[over] * at - self.end_moment[over]
        return risen - fallen


class Occupancy:
    """Weighted intervals [start, end) by worker code. Intervals without start, end or worker are left out."""

    def __init__(self, workers: Codes, starts: Floats, ends: Floats, weights: Floats | None = None):
        """All arrays have one length; weights default to 1, so that levels are counts."""
        weights = np.ones(len(starts)) if weights is None else weights
        known = (
            np.isfinite(starts) & np.isfinite(ends) & np.isfinite(weights) & (ends > starts) & (workers != 0)
        )
        workers, starts, ends, weights = workers[known], starts[known], ends[known], weights[known]
        self._lines: dict[int, _Line] = {}
        for code, members in groups(workers):
            self._lines[code] = _line(starts[members], ends[members], weights[members])

    @property
    def workers(self) -> list[int]:
        """Codes of the workers that have any interval."""
        return list(self._lines)

    def level(self, workers: Codes, at: Floats) -> Floats:
        """Level of each worker at each instant; 0 for a worker without intervals."""
        return self._each(workers, lambda line, chosen: line.level(at[chosen]), len(at))

    def mean(self, workers: Codes, since: Floats, until: Floats) -> Floats:
        """Average level of each worker over [since, until]; the level itself where the two are equal."""
        width = np.asarray(until - since)

        def one(line: _Line, chosen: NDArray[np.intp]) -> Floats:
            area = line.integral(until[chosen]) - line.integral(since[chosen])
            stretch = width[chosen]
            lasts = stretch > 0
            out: Floats = np.divide(area, stretch, out=np.zeros(len(area)), where=lasts)
            if not lasts.all():
                out[~lasts] = line.level(since[chosen[~lasts]])
            return out

        return self._each(workers, one, len(since))

    def total(self, at: Floats) -> Floats:
        """Level of all workers together."""
        out = np.zeros(len(at))
        for line in self._lines.values():
            out += line.level(at)
        return out

    def series(self, worker: int, edges: Floats) -> Floats:
        """Average level of one worker between consecutive edges."""
        line = self._lines.get(worker)
        if line is None:
            return np.zeros(max(0, len(edges) - 1))
        return np.diff(line.integral(edges)) / np.diff(edges)

    def peak(self, worker: int, since: float = -np.inf) -> float:
        """Highest level a worker has from an instant on; its highest ever when it has no start after that."""
        line = self._lines.get(worker)
        if line is None or not len(line.starts):
            return 0.0
        later = line.starts[line.starts >= since]
        return float(line.level(later if len(later) else line.starts).max())

    def while_busy(self, worker: int) -> float:
        """Average level of a worker while it has any; 0 when it never has."""
        line = self._lines.get(worker)
        if line is None:
            return 0.0
        edges = np.unique(np.concatenate([line.starts, line.ends]))
        level, width = line.level(edges[:-1]), np.diff(edges)
        busy = level > 0
        return float((level * width)[busy].sum() / width[busy].sum())

    def _each(self, workers: Codes, read: Callable[[_Line, NDArray[np.intp]], Floats], size: int) -> Floats:
        out = np.zeros(size)
        for code, members in groups(workers):
            line = self._lines.get(code)
            if line is not None:
                out[members] = read(line, members)
        return out


def groups(codes: Codes) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each code with the rows that have it."""
    if not len(codes):
        return
    if (codes == codes[0]).all():
        yield int(codes[0]), np.arange(len(codes))
        return
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    for members in np.split(order, first):
        yield int(codes[members[0]]), members


def _line(starts: Floats, ends: Floats, weights: Floats) -> _Line:
    by_start, by_end = np.argsort(starts, kind="stable"), np.argsort(ends, kind="stable")
    s, ws = starts[by_start], weights[by_start]
    e, we = ends[by_end], weights[by_end]
    zero = np.zeros(1)
    return _Line(
        s,
        np.concatenate([zero, np.cumsum(ws)]),
        np.concatenate([zero, np.cumsum(ws * s)]),
        e,
        np.concatenate([zero, np.cumsum(we)]),
        np.concatenate([zero, np.cumsum(we * e)]),
    )
