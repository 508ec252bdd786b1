"""What is known of the requests of one worker, from its side of the hand-over: since when each was there,
when something ended, which steps ran, how late its streams are.
"""

from dataclasses import dataclass

import numpy as np

from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PHASE, Flags, Floats, Index, Requests
from collector.phases import Phase

STUCK_TIMES = 5.0
"""How many times what is usual a step, or a stream, must take to have been stuck."""
HARDLY_LATE = 1.5
"""Up to so many times what is usual a stream has lost nothing to speak of."""
USUAL = 25.0
"""Percentile of what steps take that is usual, also where many were stuck."""


@dataclass(frozen=True)
class Side:
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


def of_prefill(s: Situation, rows: Index) -> Side:
    """The prompts of one worker, computed or waiting to be."""
    r = s.requests
    queued, began, ended = (
        each[rows]
        for each in (r.began("prefill_queue"), r.began("prefill_compute"), r.ended("prefill_compute"))
    )
    nothing = np.full(len(rows), np.nan)
    first, taken = (r.start + r.ttft)[rows], r.ended("prefill_queue")[rows]
    within = before_decode(r)[rows]
    since = np.where(within | ~np.isfinite(queued), r.start[rows], queued)
    return Side(
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


def of_decode(s: Situation, rows: Index) -> Side:
    """The requests handed to one decode worker, and its streams."""
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
    return Side(
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
