"""Stretches in which a worker did nothing although requests were there: paused, compiling, starved.

While nothing there ends, a step in course takes many times what it usually does, or streams that should
have brought tokens lost all that time, or what came meanwhile is taken at once as it ends. What a worker
that is merely slow has in hand ends all the time, late; what one that stood still held up is late by that
and no more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from analyzer.verdict.situation import Situation, once
from analyzer.verdict.tables import Codes, Flags, Floats, Index
from analyzer.verdict.worker_side import STUCK_TIMES, Side, of_decode, of_prefill

LEAST_S = 1.0
"""A shorter stretch without an end may well be a step."""
HELD_LEAST = 3
"""Fewer requests that were there show no worker that stood still."""
BETWEEN_S = 0.5
"""What ends in so short a time between two stretches came of the moment in which the worker moved."""
AT_ONCE_S = 0.25
"""What is taken within so short a time after a stretch was taken as the worker moved again."""
LONG_PROMPT = 2.0
"""A prompt of so many times the usual length may keep others waiting by itself."""
ALL_OF_IT = 0.8
"""Share of the stretch that a step must have lasted through, or a stream must have lost."""
NO_MORE = 0.8
"""Share of what a stuck step or stream lost that must lie in the stretch: the rest went as it should."""


@dataclass(frozen=True)
class Standstill:
    """Seconds from the origin; `held`: rows of the requests that were there."""

    worker: int
    since: float
    until: float
    held: Index


@once
def standstills(s: Situation) -> list[Standstill]:
    """All that held requests of the window, of both pools, in order of time."""
    found: list[Standstill] = []
    for workers, side in ((s.pools.prompt_worker, of_prefill), (s.requests.decode_worker, of_decode)):
        for code in np.unique(workers[workers != 0]).tolist():
            rows = np.flatnonzero((workers == code) & s.requests.answered)
            if len(rows) >= HELD_LEAST:
                found += _joined(_of_worker(code, side(s, rows)))
    inside = (one for one in found if s.requests.inside[one.held].any())
    return sorted(inside, key=lambda one: one.since)


def overlap(s: Situation, workers: Codes, since: Floats, until: Floats) -> Floats:
    """Seconds of each missed request's time from `since` to `until` in which its worker stood still."""
    out = np.zeros(len(workers))
    for one in standstills(s):
        shared = np.minimum(until, one.until) - np.maximum(since, one.since)
        out += np.where(workers == one.worker, np.maximum(np.nan_to_num(shared), 0.0), 0.0)
    return out


def _of_worker(code: int, side: Side) -> Iterator[Standstill]:
    marks = np.unique(np.concatenate(side.ends))
    marks = marks[np.isfinite(marks)]
    stretches = np.flatnonzero(np.diff(marks) >= LEAST_S)
    for at in stretches[_may_be_stuck(side, marks[stretches], marks[stretches + 1])].tolist():
        since, until = float(marks[at]), float(marks[at + 1])
        # what has yet to come when the stretch ends does not tell of all of it
        held = (side.there <= until - ALL_OF_IT * LEAST_S) & (side.done >= until)
        if held.sum() < HELD_LEAST:
            continue
        # with nobody there it had nothing to do
        since = max(since, float(side.there[held].min()))
        if until - since >= ALL_OF_IT * LEAST_S and _stuck(side, since, until):
            yield Standstill(code, since, until, side.rows[held])


def _may_be_stuck(side: Side, since: Floats, until: Floats) -> Flags:
    """Per stretch, what `_stuck` cannot do without: most gaps of a worker need no closer look."""
    known = np.isfinite(side.late)
    losing = known & (side.late >= ALL_OF_IT * ALL_OF_IT * LEAST_S)
    streams = _under_way(side.stream_since[known], side.stream_until[known], since, until)
    lost = _under_way(side.stream_since[losing], side.stream_until[losing], since, until)
    others = _between(side.queue_until, until, until + AT_ONCE_S) >= HELD_LEAST
    for begin, end, usual in side.steps:
        stuck = end - begin >= STUCK_TIMES * usual
        others |= _under_way(begin[stuck], end[stuck], since, until) > 0
    found: Flags = (lost > 0) | ((streams == 0) & others)
    return found


def _under_way(begin: Floats, end: Floats, since: Floats, until: Floats) -> Index:
    """How many began before each stretch was over and ended after it had begun."""
    found: Index = np.searchsorted(np.sort(begin), until) - np.searchsorted(np.sort(end), since, "right")
    return found


def _between(instants: Floats, since: Floats, until: Floats) -> Index:
    known = np.sort(instants[np.isfinite(instants)])
    found: Index = np.searchsorted(known, until, "right") - np.searchsorted(known, since)
    return found


def _joined(stretches: Iterable[Standstill]) -> list[Standstill]:
    """Stretches in order of time; those with next to nothing between them are one."""
    out: list[Standstill] = []
    for one in stretches:
        if out and one.since - out[-1].until <= BETWEEN_S:
            last = out.pop()
            one = Standstill(one.worker, last.since, one.until, np.union1d(last.held, one.held))
        out.append(one)
    return out


def _stuck(side: Side, since: float, until: float) -> bool:
    long = until - since
    streams = (side.stream_since <= since) & (side.stream_until >= until) & np.isfinite(side.late)
    if streams.any():
        lost = side.late[streams]
        # streams that are slow all the way may lose as much in a stretch in which nobody comes or goes
        others = (side.there <= until - 0.5 * long) & (side.done >= until) & ~(side.stream_since <= since)
        matched = (lost >= ALL_OF_IT * long) & (long >= NO_MORE * lost)
        return bool(others.any() and matched.all())
    for begin, end, usual in side.steps:
        shared = np.minimum(end, until) - np.maximum(begin, since)
        took = end - begin
        through = (shared >= ALL_OF_IT * long) & (long >= NO_MORE * took) & (took >= STUCK_TIMES * usual)
        if through.any():
            return True
    return _taken_at_once(side, since, until)


def _taken_at_once(side: Side, since: float, until: float) -> bool:
    """Whether those that came one by one, with nothing in course, were all taken as the stretch ended."""
    waited = (side.queue_since < until) & (side.queue_until >= until) & (side.done >= until)
    taken = waited & (side.queue_until <= until + AT_ONCE_S)
    if taken.sum() < max(HELD_LEAST, ALL_OF_IT * waited.sum()):
        return False
    at_work = np.minimum(side.work_until, until) - np.maximum(side.work_since, since)
    known = side.size[np.isfinite(side.size)]
    if not len(known) or (at_work >= 0.5 * (until - since)).any():
        return False
    # a prompt of unknown length may be the long one
    if not side.size[taken].max() <= LONG_PROMPT * np.median(known):
        return False
    return float(np.ptp(side.queue_since[taken])) >= ALL_OF_IT * LEAST_S
