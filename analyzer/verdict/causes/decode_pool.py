"""A wait on decode: one hot worker, both pools full, decode without room; else it is the hand-over itself."""

import numpy as np

from analyzer.verdict.causes.pool_state import (
    enough_alone,
    held_for_decode,
    prefill_would_be_full,
    siblings_idle,
)
from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause


def skew(s: Situation) -> Floats:
    """Waits for room on one decode worker while its siblings had no queue."""
    full, _ = s.decode_full
    return where(full & siblings_idle(s, "decode"))


def overload(s: Situation) -> Floats:
    """Waits for decode of requests that had to wait for prefill as well: decode alone is not enough.

    Not where decode held prefill back, which is idle otherwise: then both waits are decode's.
    """
    full, _ = s.decode_full
    of_prefill = s.prefill_short & ~(held_for_decode(s) & ~prefill_would_be_full(s))
    return where(full & of_prefill & ~enough_alone(s, "decode_queue"))


def starved(s: Situation) -> Floats:
    """Waits while the decode worker lacked slots or cache."""
    full, _ = s.decode_full
    return where(full)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """The wait, and how full decode was."""
    since, until = (np.nan_to_num(edge) for edge in s.wait("decode_queue"))
    worker = s.decode_worker
    middle = (since + until) / 2
    return [
        *part(s, "decode_queue", chosen),
        *median("decode.kv_used_fraction", s.pools.kv_used(worker, until), chosen, "fraction"),
        *median("decode.running", s.pools.readings.read("running", worker, middle), chosen, "requests"),
        *median(
            "decode.queue_depth",
            s.pools.decode_waiting.mean(worker, since, until),
            chosen,
            "requests",
            "derived",
        ),
        *part(s, "prefill_queue", chosen),
    ]


_EXCLUDES = "decode with room for the request; room held by reservations that are never filled"
SKEW = Rule(
    Cause.INTRA_POOL_SKEW, ("decode_queue",), skew, explain,
    "Route by free KV and slots per decode worker: some are full while their siblings are not.",
    needs=("decode_queue",), excludes="siblings that are full as well",
)  # fmt: skip
OVERLOAD = Rule(
    Cause.OVERLOAD, ("decode_queue",), overload, explain,
    "Both pools are full: add capacity to both, or admit less; another ratio does not help.",
    needs=("decode_queue", "kv_used_fraction"), excludes="either pool having room", confidence=0.85,
)  # fmt: skip
STARVED = Rule(
    Cause.DECODE_STARVED, ("decode_queue",), starved, explain,
    "Add decode slots or KV capacity, or move workers from prefill to decode.",
    needs=("decode_queue", "kv_used_fraction"), excludes=_EXCLUDES,
)  # fmt: skip
