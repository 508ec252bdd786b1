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
from analyzer.verdict.tables import PHASE, Codes, Flags, Floats, Index, Requests
from collector.phases import Phase

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
STUCK_TIMES = 5.0
"""How many times what is usual a step, or a stream, must take to have been stuck."""
HARDLY_LATE = 1.5
"""Up to so many times what is usual a stream has lost nothing to speak of."""
ALL_OF_IT = 0.8
"""Share of the stretch that a step must have lasted through, or a stream must have lost."""
NO_MORE = 0.8
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
    """The wait of each request to be taken; where phases are timed as one, until its first token."""
    size: Floats
    """Tokens of the prompt where the wait holds its computing as well; else 0."""
    work_since: Floats
    work_until: Floats
    """What may rightly keep others waiting: computing a prompt, moving KV."""
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


def _of_worker(code: int, side: _Side) -> Iterator[Standstill]:
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


def _may_be_stuck(side: _Side, since: Floats, until: Floats) -> Flags:
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


def _stuck(side: _Side, since: float, until: float) -> bool:
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


def _taken_at_once(side: _Side, since: float, until: float) -> bool:
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


def _prefill(s: Situation, rows: Index) -> _Side:
    r = s.requests
    queued, began, ended = (
        each[rows]
        for each in (r.began("prefill_queue"), r.began("prefill_compute"), r.ended("prefill_compute"))
    )
    nothing = np.full(len(rows), np.nan)
    first, taken = (r.start + r.ttft)[rows], r.ended("prefill_queue")[rows]
    within = before_decode(r)[rows]
    since = np.where(within | ~np.isfinite(queued), r.start[rows], queued)
    return _Side(
        rows,
        np.where(np.isfinite(queued) | within, since, began),
        np.where(np.isfinite(ended), ended, first),
        (taken, ended, first),
        ((began, ended, s.compute.expected[rows]),),
        since,
        np.where(np.isfinite(taken), taken, np.where(within, first, np.nan)),
        np.where(np.isfinite(taken), 0.0, r.input_tokens[rows]),
        began,
        ended,
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
    there = np.where(np.isfinite(handed), handed, r.start[rows])
    queued, taken = r.began("decode_queue")[rows], r.ended("decode_queue")[rows]
    # where spans bound decode's wait it begins with the prompt's end
    within = on_decode(r)[rows]
    taken = np.where(within & ~np.isfinite(taken), first, taken)
    return _Side(
        rows,
        there,
        np.fmax(first, last),
        (*(r.ended(name)[rows] for name in names), first, last),
        tuple(_step(s, name, rows) for name in ("kv_import", "first_decode_step")),
        np.where(within, there, queued),
        np.full(len(rows), np.nan) if held_for_nobody else taken,
        np.zeros(len(rows)),
        r.began("kv_transfer")[rows],
        r.ended("kv_transfer")[rows],
        first,
        last,
        _late(r.tpot[rows], tokens),
    )


def before_decode(r: Requests) -> Flags:
    """Whether most of what spans bound of each request lies before its prompt is computed."""
    return _bounded_by(r, Phase.PREFILL_QUEUE)


def on_decode(r: Requests) -> Flags:
    """Whether most of it lies in decode's wait."""
    return _bounded_by(r, Phase.DECODE_QUEUE)


def _bounded_by(r: Requests, phase: Phase) -> Flags:
    found: Flags = (r.within.astype(np.int64) >> PHASE[phase] & 1) > 0
    return found


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
    # a stream that is not many times slower than others may have lost its time anywhere: it shows nothing
    unclear = (tpot < STUCK_TIMES * usual) & (tpot >= HARDLY_LATE * usual)
    late = np.where(tpot < HARDLY_LATE * usual, 0.0, late)
    return np.where(unclear | ~known, np.nan, late)
