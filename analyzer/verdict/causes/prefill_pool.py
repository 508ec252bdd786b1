"""A long wait for prefill: who is to blame.

One hot worker, decode that holds prefill back, both pools full, or too little prefill: asked in this order,
after departed clients and orphans.
"""

import numpy as np

from analyzer.verdict.causes.pool_state import (
    behind_long_prompts,
    decode_is_full,
    decode_wait_untold,
    decode_would_be_full,
    held_for_decode,
    prefill_idle,
    prefill_would_be_full,
    siblings_idle,
    siblings_with_room,
)
from analyzer.verdict.evidence import Evidence, median, number
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause


def skew(s: Situation) -> Floats:
    """Waits on a worker while its siblings had hardly any queue."""
    return where(_too_long(s) & siblings_idle(s, "prefill"))


def _too_long(s: Situation) -> Flags:
    """Waits beyond ordinary queueing, of the pool or of prompts like most."""
    return s.prefill_short | behind_long_prompts(s)


def back_pressure(s: Situation) -> Floats:
    """Waits on prefill workers whose cache is full of finished KV that a full decode pool does not take."""
    return where(s.prefill_short & held_for_decode(s))


def decode_skew(s: Situation) -> Floats:
    """Waits of prefill for room on one decode worker while its siblings had room."""
    return where(s.prefill_short & prefill_idle(s) & siblings_with_room(s))


def overload(s: Situation) -> Floats:
    """Waits for prefill while decode was full as well, or either would have been had the other kept up."""
    busy = ~prefill_idle(s) & (decode_is_full(s) | decode_would_be_full(s))
    held = held_for_decode(s) & prefill_would_be_full(s)
    return where(s.prefill_short & (busy | held))


def starved(s: Situation) -> Floats:
    """Waits for prefill while decode had room, or is not suspected of having had none."""
    if decode_wait_untold(s):
        return np.zeros(len(s.rows))
    return where(_too_long(s) & ~prefill_idle(s))


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """The wait, the queue around it, and what decode was doing meanwhile."""
    since, until = (np.nan_to_num(edge) for edge in s.wait("prefill_queue"))
    depth = s.pools.prefill_waiting.mean(s.prefill_worker, since, until)
    decode = s.decode_worker
    return [
        *part(s, "prefill_queue", chosen),
        *median("prefill.queue_depth", depth, chosen, "requests", "derived"),
        *part(s, "prefill_compute", chosen),
        *part(s, "decode_queue", chosen),
        *median("decode.kv_used_fraction", s.pools.kv_used(decode, until), chosen, "fraction"),
    ]


def explain_skew(s: Situation, chosen: Flags) -> list[Evidence]:
    """Queue of the hot worker beside its siblings'."""
    since, until = (np.nan_to_num(edge) for edge in s.wait("prefill_queue"))
    own = s.pools.prefill_waiting.mean(s.prefill_worker, since, until)
    workers = s.pools.siblings("prefill")
    return [
        *part(s, "prefill_queue", chosen),
        *median("worker.queue_depth", own, chosen, "requests", "derived"),
        *number("prefill.workers", float(len(workers)), "workers"),
        *number("workers_of_these_requests", float(len(np.unique(s.prefill_worker[chosen]))), "workers"),
    ]


_EXCLUDES = "waits of no more than ordinary random queueing; queues of cancelled work or orphaned KV"
SKEW = Rule(
    Cause.INTRA_POOL_SKEW,
    ("prefill_queue",),
    skew,
    explain_skew,
    "Route by outstanding prompt tokens per worker: some workers queue while their siblings idle.",
    needs=("prefill_queue",),
    excludes="siblings that queue as well",
)
DECODE_SKEW = Rule(
    Cause.INTRA_POOL_SKEW,
    ("prefill_queue",),
    decode_skew,
    explain,
    "Route by free KV and slots per decode worker: some are full, and hold prefill back, while siblings "
    "are not.",
    needs=("prefill_queue", "decode"),
    excludes="decode siblings that are full as well",
    confidence=0.85,
)
BACK_PRESSURE = Rule(
    Cause.DECODE_STARVED,
    ("prefill_queue",),
    back_pressure,
    explain,
    "Add decode capacity (slots or KV): finished KV waits on prefill and fills its cache.",
    needs=("kv_used_fraction",),
    excludes="prefill cache that has room, or decode that has",
    confidence=0.85,
)
OVERLOAD = Rule(
    Cause.OVERLOAD,
    ("prefill_queue",),
    overload,
    explain,
    "Both pools are full: add capacity to both, or admit less; another ratio does not help.",
    needs=("prefill_queue", "kv_used_fraction"),
    excludes="either pool having room",
    confidence=0.85,
)
STARVED = Rule(
    Cause.PREFILL_STARVED,
    ("prefill_queue",),
    starved,
    explain,
    "Add prefill capacity, or move workers from decode to prefill: decode has room.",
    needs=("prefill_queue",),
    excludes=_EXCLUDES,
)
