"""What observed workers were doing: stretches of prompt work, and streams that decoded beside each other.

Telemetry tells when requests began and ended, not the steps in between; these are their sums and means.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzer.plan.observed import Observed
from analyzer.plan.outcome import Floats

TOUCHING_S = 1e-3
"""Prompt intervals of a worker closer than this belong to one stretch: the gap is the host's."""


@dataclass(frozen=True)
class Stretches:
    """Unbroken prompt work of one worker, one row each: when, computed prompt tokens, steps and mean decodes.

    With a chunk budget `steps` are as many as the tokens need, without one as many as ended a prompt.
    """

    worker: Floats
    start: Floats
    end: Floats
    tokens: Floats
    steps: Floats
    batch: Floats


@dataclass(frozen=True)
class Streams:
    """Decoding requests, one row each.

    `steps` = output - 1, `seconds` first to last token, mean `context`: tokens of all that ran then, itself
    included. Of these `prompt_s` and `prompt_steps` while its worker computed prompts.
    """

    steps: Floats
    seconds: Floats
    context: Floats
    prompt_s: Floats
    prompt_steps: Floats


def prompt_stretches(observed: Observed, chunk: int | None) -> Stretches:
    """The stretches of prompt work of every worker; `chunk` is the step budget of colocated ones."""
    parts: list[Floats] = []
    uncached = observed.workload.columns.uncached
    known = np.isfinite(observed.prefill_from) & (observed.prefill_until > observed.prefill_from)
    for worker in np.unique(observed.prompt_worker[known & (observed.prompt_worker >= 0)]):
        rows = np.flatnonzero(known & (observed.prompt_worker == worker))
        rows = rows[np.argsort(observed.prefill_from[rows], kind="stable")]
        start, end = observed.prefill_from[rows], observed.prefill_until[rows]
        reach = np.maximum.accumulate(end)
        heads = np.flatnonzero(np.r_[True, start[1:] > reach[:-1] + TOUCHING_S])
        group = np.zeros(len(rows), np.int64)
        group[heads[1:]] = 1
        group = np.cumsum(group)
        tokens = np.bincount(group, uncached[rows], len(heads))
        begin, stop = start[heads], np.maximum.reduceat(end, heads)
        batch = _batch(observed, worker, begin, stop)
        steps = _endings(group, end) if chunk is None else np.ceil(tokens / np.maximum(chunk - batch, 1))
        parts.append(np.stack([np.full(len(heads), worker), begin, stop, tokens, steps, batch]))
    return Stretches(*(np.concatenate(parts, axis=1) if parts else np.empty((6, 0))))


def _endings(group: npt.NDArray[np.int64], end: Floats) -> Floats:
    """Instants at which prompts of each group end: those that end in one step end together."""
    order = np.lexsort((end, group))
    new = np.r_[True, (np.diff(end[order]) > 1e-6) | (np.diff(group[order]) > 0)]
    return np.bincount(group[order][new], minlength=group[-1] + 1).astype(np.float64)


def _decoding(observed: Observed, worker: int) -> npt.NDArray[np.intp]:
    known = np.isfinite(observed.first) & (observed.last > observed.first)
    return np.flatnonzero(known & (observed.stream_worker == worker))


def _batch(observed: Observed, worker: int, begin: Floats, end: Floats) -> Floats:
    """Mean decodes on `worker` from `begin` to `end`."""
    rows = _decoding(observed, worker)
    if not len(rows):
        return np.zeros(len(begin))
    line = _Line(observed.first[rows], observed.last[rows], np.ones(len(rows)), np.zeros(len(rows)))
    return line.between(begin, end) / (end - begin)


def streams(observed: Observed, prompts: Stretches, min_steps: int) -> Streams:
    """Requests that decoded for at least `min_steps` steps, with what ran beside them."""
    parts: list[Floats] = []
    columns = observed.workload.columns
    for worker in np.unique(observed.stream_worker[observed.stream_worker >= 0]):
        rows = _decoding(observed, worker)
        if not len(rows):
            continue
        begin, end, steps = observed.first[rows], observed.last[rows], columns.output[rows] - 1
        length = end - begin
        line = _Line(begin, end, columns.prompt[rows].astype(float), steps / length)
        own = prompts.worker == worker
        start, stop = prompts.start[own], prompts.end[own]
        prompt_s = _overlap(begin, end, start, stop, np.ones(len(start)))
        prompt_steps = _overlap(begin, end, start, stop, prompts.steps[own] / (stop - start))
        found = np.stack([steps, length, line.between(begin, end) / length, prompt_s, prompt_steps])
        parts.append(found[:, steps >= min_steps])
    return Streams(*(np.concatenate(parts, axis=1) if parts else np.empty((5, 0))))


class _Line:
    """The sum over requests of `height` + `slope` · (t - begin) while each runs, integrated over time."""

    def __init__(self, begin: Floats, end: Floats, height: Floats, slope: Floats) -> None:
        at = np.r_[begin, end]
        order = np.argsort(at, kind="stable")
        self.at = at[order]
        jump = np.r_[height, -(height + slope * (end - begin))][order]
        bend = np.cumsum(np.r_[slope, -slope][order])
        gap = np.r_[np.diff(self.at), 0.0]
        # value just after each event: all jumps so far, and what the slopes have added
        self.value = np.cumsum(jump) + np.r_[0.0, np.cumsum(bend * gap)[:-1]]
        self.bend = bend
        self.area = np.r_[0.0, np.cumsum(self.value * gap + bend * gap**2 / 2)[:-1]]

    def until(self, t: Floats) -> Floats:
        """Area up to `t`."""
        k = np.maximum(np.searchsorted(self.at, t, side="right") - 1, 0)
        t = np.maximum(t, self.at[0])
        since = t - self.at[k]
        found: Floats = self.area[k] + self.value[k] * since + self.bend[k] * since**2 / 2
        return found

    def between(self, begin: Floats, end: Floats) -> Floats:
        """Area from `begin` to `end`."""
        return self.until(end) - self.until(begin)


def _overlap(begin: Floats, end: Floats, start: Floats, stop: Floats, rate: Floats) -> Floats:
    """What [begin, end] gets of disjoint, ordered intervals [start, stop] that bring `rate` a second."""
    if not len(start):
        return np.zeros(len(begin))
    before = np.r_[0.0, np.cumsum((stop - start) * rate)]

    def until(t: Floats) -> Floats:
        k = np.searchsorted(start, t, side="right") - 1
        at = np.maximum(k, 0)
        found: Floats = before[at] + np.where(k >= 0, (np.minimum(t, stop[at]) - start[at]) * rate[at], 0.0)
        return found

    return until(end) - until(begin)
