"""Tokens come slower than the objective: one worker runs most streams, a full pool runs large batches, or a
step simply takes that long.
"""

import numpy as np

from analyzer.occupancy import Occupancy
from analyzer.pools import AT_CAP
from analyzer.verdict.causes.beside_siblings import beside_siblings
from analyzer.verdict.causes.pool_state import HALF_AS_MUCH
from analyzer.verdict.evidence import Evidence, median, number
from analyzer.verdict.rule import Rule, everything, where
from analyzer.verdict.situation import AROUND_S, Situation, once
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause

AS_EXPECTED = 1.15
"""A step within this factor of what its batch explains is not slow by itself."""
VARIES = 1.3
"""Ratio of large to small batches from which on a fit can tell what the batch costs."""
FEW = 4
"""With fewer streams in its steps a worker is not slow for their number."""
HARDLY = 0.3
"""Streams that hold less of a full cache do not fill it."""
MOSTLY_MET = 0.75
"""Share of the siblings' streams that keep the objective, where the siblings are well."""


def skew(s: Situation) -> Floats:
    """Streams of a worker that was given far more than most siblings, whose own streams are in time.

    More streams alone say nothing: a slow worker keeps its streams for longer and so runs more at once.
    """
    since, until = (np.nan_to_num(edge) for edge in s.wait("decode"))
    if len(s.pools.siblings("decode")) < 2:
        return np.zeros(len(s.rows))
    hot = (s.over_tpot > 0) & (s.of(s.batch) >= FEW) & (_siblings_in_time(s) >= MOSTLY_MET)
    for around in (0.0, AROUND_S):  # for a moment one worker has more by chance
        for level in (s.pools.decode_running, _tokens_per_second(s)):
            at = np.flatnonzero(hot)
            if not len(at):
                break
            own, usual = beside_siblings(
                s, "decode", s.decode_worker[at], level, since[at] - around, until[at] + around
            )
            hot[at] = usual < HALF_AS_MUCH * own
    return where(hot)


def _siblings_in_time(s: Situation) -> Floats:
    """Share of the streams of each missed request's siblings that kept the TPOT objective; 1 without any."""
    r = s.requests
    known, met = np.isfinite(r.tpot) & (r.decode_worker != 0), r.tpot <= r.tpot_limit
    out = np.ones(len(s.rows))
    for code in np.unique(s.decode_worker).tolist():
        others = known & (r.decode_worker != code)
        if others.any():
            out[s.decode_worker == code] = met[others].mean()
    return out


@once
def _tokens_per_second(s: Situation) -> Occupancy:
    """Tokens that each decode worker makes per second: by it, what it is given can be compared."""
    began, ended = s.pools.streams
    lasts = np.where(ended > began, ended - began, np.nan)
    return Occupancy(s.requests.decode_worker, began, ended, s.requests.output_tokens / lasts)


def grown(s: Situation) -> Flags:
    """Streams whose step is what their batch explains, and would meet the objective at half the batch."""
    fit, known = s.step.fit, s.batch[np.isfinite(s.batch)]
    if fit is None or len(known) < 20:
        return np.zeros(len(s.rows), bool)
    small, large = np.percentile(known, (10, 90))
    if large < VARIES * max(small, 1.0):
        return np.zeros(len(s.rows), bool)
    context = s.of(s.requests.input_tokens) + np.nan_to_num(s.of(s.requests.output_tokens)) / 2
    batch = s.of(s.batch)
    half = np.column_stack([np.ones(len(batch)), batch / 2, batch / 2 * context])
    relieved = fit.predict(half) <= s.of(s.requests.tpot_limit)
    ordinary = s.of(s.requests.tpot) <= AS_EXPECTED * s.of(s.step.expected)
    return relieved & ordinary & (batch >= 4)


def crowded(s: Situation) -> Floats:
    """Streams of a worker that was full while they ran: of cache in use by its streams, or of slots."""
    since, until = (np.nan_to_num(edge) for edge in s.wait("decode"))
    middle, worker = (since + until) / 2, s.decode_worker
    no_room = np.zeros(len(worker), bool)
    for at in (middle, until):
        no_room |= s.pools.decode_kv_full(worker, at, HARDLY)
    running = s.pools.readings.read("running", worker, middle)
    at_cap = running >= AT_CAP * s.pools.most(worker, "running")
    if at_cap.any():
        at_cap &= _waits_for_room(s).mean(worker, since, until) >= 1.0
    return where(((no_room | at_cap) & (s.of(s.batch) >= FEW)) | grown(s))


def _waits_for_room(s: Situation) -> Occupancy:
    """Waits of all requests, by decode worker, in which it lacked room."""
    r, (since, until) = s.requests, s.pools.room_wait
    tokens = r.input_tokens + np.nan_to_num(r.output_tokens)
    full, _ = s.pools.decode_full(r.decode_worker, np.nan_to_num(since), np.nan_to_num(until), tokens)
    return Occupancy(np.where(full, r.decode_worker, 0).astype(np.uint64), since, until)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Time per token, the batch, and the cache."""
    until = np.nan_to_num(s.wait("decode")[1])
    return [
        *median("tpot", s.of(s.requests.tpot), chosen),
        *median("objective.tpot", s.of(s.requests.tpot_limit), chosen, "s", "supplied"),
        *median("decode.batch", s.of(s.batch), chosen, "streams", "derived"),
        *median("tpot.expected", s.of(s.step.expected), chosen, "s", str(s.step.source)),
        *median("decode.kv_used_fraction", s.pools.kv_used(s.decode_worker, until), chosen, "fraction"),
    ]


def explain_skew(s: Situation, chosen: Flags) -> list[Evidence]:
    """The worker's batch, and how many there were to share it."""
    return [
        *explain(s, chosen),
        *number("decode.workers", float(len(s.pools.siblings("decode"))), "workers"),
        *number("workers_of_these_requests", float(len(np.unique(s.decode_worker[chosen]))), "workers"),
    ]


SKEW = Rule(
    Cause.INTRA_POOL_SKEW, ("tpot.running",), skew, explain_skew,
    "Route by running streams per decode worker: some run large batches while their siblings run small ones.",
    needs=("decode",), excludes="siblings that are slow as well; a worker slow at its share of the load",
    confidence=0.85,
)  # fmt: skip
STARVED = Rule(
    Cause.DECODE_STARVED, ("tpot.running",), crowded, explain,
    "Add decode capacity, or admit fewer streams per worker: batches grow because the pool is full.",
    needs=("kv_used_fraction",), excludes="decode with room; few streams, whatever the gauge reads",
    confidence=0.85,
)  # fmt: skip
BOUND = Rule(
    Cause.DECODE_BOUND, ("tpot.running",), everything, explain,
    "A decode step does not fit the objective at this batch: more tensor parallelism, fewer streams "
    "per worker, speculative decoding, or another objective.",
    needs=("decode",), excludes="pools that are full, prompts in the steps, preemption", confidence=0.85,
)  # fmt: skip
