"""Stretches in which a worker did nothing although requests were there: paused, compiling, starved.

While nothing there ends, a step in course takes many times what it usually does, or streams that should
have brought tokens lost all that time, or what came meanwhile is taken at once as it ends. A worker that is
merely slow is so time after time, and for most of its requests; one that stood still did so a few times, and
what it held up is late by that and no more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from analyzer.verdict.situation import Situation, once
from analyzer.verdict.tables import Codes, Flags, Floats, Index

LEAST_S = 1.0
"""A shorter stretch without an end may well be a step."""
HELD_LEAST = 3
"""Fewer requests that were there show no worker that stood still."""
BETWEEN_S = 0.5
"""What ends in so short a time between two stretches came of the moment in which the worker moved."""
MOST_TIMES = 5
"""A worker that does so more often in a window is slow."""
AT_ONCE_S = 0.25
"""What is taken within so short a time after a stretch was taken as the worker moved again."""
STUCK_TIMES = 5.0
"""How many times what is usual a step, or a stream, must take to have been stuck."""
ALL_OF_IT = 0.8
"""Share of the stretch that a step must have lasted through, or a stream must have lost."""
NO_MORE = 0.6
"""Share of what a stuck step or stream lost that must lie in the stretch: the rest went as it should."""
USUAL = 25.0
"""Percentile of what steps take that is usual, also where many were stuck."""


@dataclass(frozen=True)
class Standstill:
    """Seconds from the origin; `held`: rows of the requests that were there."""

    worker: int
    since: float
    until: float
    held: Index


@dataclass(frozen=True)
class _Side:
    """What is known of the requests of one worker: arrays (rows) unless said otherwise."""

    rows: Index
    there: Floats
    """From when the worker could have worked on each request, and until when it had to."""
    done: Floats
    ends: tuple[Floats, ...]
    """Instants at which something ended there."""
    steps: tuple[tuple[Floats, Floats, Floats], ...]
    """Since, until and usual duration of steps of which one at a time may be stuck."""
    queue_since: Floats
    queue_until: Floats
    """The wait of each request to be taken."""
    stream_since: Floats
    stream_until: Floats
    late: Floats
    """Seconds that each stream took beyond what is usual for its tokens; nan without one."""


@once
def standstills(s: Situation) -> list[Standstill]:
    """All that held requests of the window, of both pools, in order of time."""
    found: list[Standstill] = []
    for workers, side in ((s.pools.prompt_worker, _prefill), (s.requests.decode_worker, _decode)):
        for code in np.unique(workers[workers != 0]).tolist():
            rows = np.flatnonzero((workers == code) & s.requests.answered)
            if len(rows) >= HELD_LEAST:
                own = _joined(_of_worker(code, side(s, rows)))
                found += own if len(own) <= MOST_TIMES else []
    inside = (one for one in found if s.requests.inside[one.held].any())
    return sorted(inside, key=lambda one: one.since)


def overlap(s: Situation, workers: Codes, since: Floats, until: Floats) -> Floats:
    """Seconds of each missed request's time from `since` to `until` in which its worker stood still."""
    out = np.zeros(len(workers))
    for one in standstills(s):
        shared = np.minimum(until, one.until) - np.maximum(since, one.since)
        out += np.where(workers == one.worker, np.maximum(np.nan_to_num(shared), 0.0), 0.0)
    return out


def _of_worker(code: int, side: _Side) -> Iterator[Standstill]:
    marks = np.unique(np.concatenate(side.ends))
    marks = marks[np.isfinite(marks)]
    for at in np.flatnonzero(np.diff(marks) >= LEAST_S).tolist():
        since, until = float(marks[at]), float(marks[at + 1])
        # what has yet to come when the stretch ends does not tell of all of it
        held = (side.there <= until - ALL_OF_IT * LEAST_S) & (side.done >= until)
        if held.sum() >= HELD_LEAST and _stuck(side, since, until):
            yield Standstill(code, since, until, side.rows[held])


def _joined(stretches: Iterable[Standstill]) -> list[Standstill]:
    """Stretches in order of time; those with next to nothing between them are one."""
    out: list[Standstill] = []
    for one in stretches:
        if out and one.since - out[-1].until <= BETWEEN_S:
            last = out.pop()
            one = Standstill(one.worker, last.since, one.until, np.union1d(last.held, one.held))
        out.append(one)
    return out


def _stuck(side: _Side, since: float, until: float) -> bool:
    long = until - since
    streams = (side.stream_since <= since) & (side.stream_until >= until) & np.isfinite(side.late)
    if streams.any():
        lost = side.late[streams]
        return bool((lost >= ALL_OF_IT * long).all() and (long >= NO_MORE * lost).any())
    for begin, end, usual in side.steps:
        shared = np.minimum(end, until) - np.maximum(begin, since)
        took = end - begin
        through = (shared >= ALL_OF_IT * long) & (long >= NO_MORE * took) & (took >= STUCK_TIMES * usual)
        if through.any():
            return True
    return _taken_at_once(side, since, until)


def _taken_at_once(side: _Side, since: float, until: float) -> bool:
    """Whether those that came one by one, with nothing in course, were all taken as the stretch ended."""
    waited = (side.queue_since < until) & (side.queue_until >= until) & (side.done >= until)
    taken = waited & (side.queue_until <= until + AT_ONCE_S)
    in_course = (side.queue_until <= since) & (side.done >= until)
    if taken.sum() < max(HELD_LEAST, ALL_OF_IT * waited.sum()) or in_course.sum() > taken.sum():
        return False
    return float(np.ptp(side.queue_since[taken])) >= ALL_OF_IT * LEAST_S


def _prefill(s: Situation, rows: Index) -> _Side:
    r = s.requests
    queued, began, ended = (
        each[rows]
        for each in (r.began("prefill_queue"), r.began("prefill_compute"), r.ended("prefill_compute"))
    )
    nothing = np.full(len(rows), np.nan)
    return _Side(
        rows,
        np.where(np.isfinite(queued), queued, began),
        ended,
        (r.ended("prefill_queue")[rows], ended),
        ((began, ended, s.compute.expected[rows]),),
        queued,
        r.ended("prefill_queue")[rows],
        nothing,
        nothing,
        nothing,
    )


def _decode(s: Situation, rows: Index) -> _Side:
    r = s.requests
    first, tokens = (r.start + r.ttft)[rows], r.output_tokens[rows]
    last = first + r.tpot[rows] * (tokens - 1)
    handed = r.ended("prefill_compute")[rows]
    names = ("decode_queue", "kv_transfer", "kv_import", "first_decode_step")
    # room that nobody will fill is given back, and taken, all at once
    held_for_nobody = bool((s.ledger.orphan & s.ledger.on_decode).any())
    return _Side(
        rows,
        np.where(np.isfinite(handed), handed, r.start[rows]),
        np.fmax(first, last),
        (*(r.ended(name)[rows] for name in names), first, last),
        tuple(_step(s, name, rows) for name in ("kv_import", "first_decode_step")),
        r.began("decode_queue")[rows],
        np.full(len(rows), np.nan) if held_for_nobody else r.ended("decode_queue")[rows],
        first,
        last,
        _late(r.tpot[rows], tokens),
    )


def _step(s: Situation, phase: str, rows: Index) -> tuple[Floats, Floats, Floats]:
    since, until = s.requests.began(phase), s.requests.ended(phase)
    took: Floats = until - since
    known: Flags = np.isfinite(took)
    usual = float(np.percentile(took[known], USUAL)) if known.any() else np.nan
    return since[rows], until[rows], np.full(len(rows), usual)


def _late(tpot: Floats, tokens: Floats) -> Floats:
    known = np.isfinite(tpot) & (tokens > 1)
    if not known.any():
        return np.full(len(tpot), np.nan)
    usual = float(np.percentile(tpot[known], USUAL))
    late = (tpot - usual) * (tokens - 1)
    # of a stream that is not many times slower than others it cannot be said when it lost its time
    return np.where(tpot >= STUCK_TIMES * usual, late, np.where(known, 0.0, np.nan))
