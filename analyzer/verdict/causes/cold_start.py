"""First use of a pair of workers, or of a worker after its start, costs what later uses do not."""

from functools import partial

import numpy as np

from analyzer.verdict.causes.pool_state import prefill_idle
from analyzer.verdict.causes.warm_up import USUAL, WARM_UP_S, usual_later, while_cold
from analyzer.verdict.evidence import Evidence, count, median
from analyzer.verdict.quoted import known_by, part
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, Flags, Floats, Index
from analyzer.verdict.vocabulary import Cause

TIMES_LATER = 4.0
"""A first use is cold when it takes this many times what later ones take."""
ENOUGH_LATER = 3
"""Later uses needed to know what is usual."""


def first_of_pair(s: Situation) -> Floats:
    """Per transfer: how many times longer than later ones of its pair a first use took; 0 for later uses.

    A side that starts anew begins anew: what the pair did before says nothing.
    """
    t = s.transfers
    out = np.zeros(len(t))
    took = t.seconds
    known = np.flatnonzero(np.isfinite(took) & (t.producer != 0) & (t.consumer != 0))
    if not len(known):
        return out
    pair = t.producer[known] * np.uint64(31) + t.consumer[known]
    order = known[np.lexsort((t.asked[known], pair))]
    pair = t.producer[order] * np.uint64(31) + t.consumer[order]
    edges = np.flatnonzero(np.concatenate([[True], pair[1:] != pair[:-1]]))
    for first, last in zip(edges.tolist(), [*edges[1:].tolist(), len(order)], strict=True):
        for members in _by_start(s, order[first:last]):
            out[members] = _times(s, members)
    return out


def _by_start(s: Situation, members: Index) -> list[Index]:
    """Uses of one pair in order of time, apart where either side was started in between."""
    t, row = s.transfers, members[0]
    workers = (s.loaded.workers.get(int(code)) for code in (t.producer[row], t.consumer[row]))
    starts = np.sort([start for worker in workers if worker for start in worker.starts])
    edges = np.unique(np.searchsorted(t.asked[members], starts))
    return [part for part in np.split(members, edges) if len(part)]


def _times(s: Situation, members: Index) -> Floats:
    """Ratio for those of a pair's uses that began before the first one ended; they are in order of time."""
    t = s.transfers
    end = t.moved[members[0]]
    cold = t.asked[members] <= end
    later = t.seconds[members[~cold]]
    if len(later) < ENOUGH_LATER or not _is_first(s, members[0]):
        return np.zeros(len(members))
    return np.where(cold, t.seconds[members] / max(float(np.median(later)), 1e-6), 0.0)


def _is_first(s: Situation, row: int) -> bool:
    """Whether the pair's first transfer seen is its first: a side just started, or nothing came before."""
    t = s.transfers
    started = [
        start
        for code in (t.producer[row], t.consumer[row])
        if (worker := s.loaded.workers.get(int(code)))
        for start in worker.starts
    ]
    since = [t.asked[row] - start for start in started if start <= t.asked[row]]
    if since:
        return bool(min(since) <= WARM_UP_S)
    return bool(t.asked[row] - t.at.min() <= WARM_UP_S and t.asked[row] >= 0)


def transfer(s: Situation) -> Floats:
    """Transfers that opened a connection."""
    return where(np.nan_to_num(s.of_hand_off(first_of_pair(s))) >= TIMES_LATER)


def compute(s: Situation) -> Floats:
    """Prompts computed while their worker was still cold, at several times the usual cost."""
    exposed = s.exposed[:, PART["prefill_compute"]]
    slow = exposed > TIMES_LATER * s.of(s.compute.expected)
    return where(s.of(_computed_cold(s)) & slow)


def _computed_cold(s: Situation) -> Flags:
    """Per request: whether its prompt was computed while its worker was cold."""
    r = s.requests
    ratio = r.duration("prefill_compute") / s.compute.expected
    return while_cold(s, s.pools.prompt_worker, r.began("prefill_compute"), ratio)


BACKLOG = 1.5
"""A backlog of a busy worker lasts longer than what began it."""


def cold_computing(s: Situation) -> list[tuple[int, float, float]]:
    """(worker, since, excess seconds) of prompts computed at several times the usual cost by workers
    just started.
    """
    r = s.requests
    took, began = r.duration("prefill_compute"), r.began("prefill_compute")
    expected = s.compute.expected
    slow = np.isfinite(began) & (took > TIMES_LATER * expected) & _computed_cold(s)
    worker = s.pools.prompt_worker
    return [(int(worker[i]), float(began[i]), float(took[i] - expected[i])) for i in np.flatnonzero(slow)]


def behind(s: Situation) -> Floats:
    """Waits for prefill in the queue that built up behind a cold prompt, until that queue was empty again."""
    since, until = s.wait("prefill_queue")
    lost = np.zeros(len(s.rows))
    for code, begun, excess in cold_computing(s):
        cleared = _cleared(s, code, begun + excess)
        lost += np.where((s.prefill_worker == code) & (until > begun) & (since < cleared), excess, 0.0)
    part = np.clip(BACKLOG * lost / np.maximum(np.nan_to_num(until - since), 1e-9), 0.0, 1.0)
    return np.where(prefill_idle(s), 0.0, part)


def _cleared(s: Situation, code: int, after: float) -> float:
    """When the worker's queue was first empty after an instant."""
    ends = np.unique(s.requests.ended("prefill_queue")[s.pools.prompt_worker == code])
    ends = ends[np.isfinite(ends) & (ends >= after)] + 1e-6
    level = s.pools.prefill_waiting.level(np.full(len(ends), code, np.uint64), ends)
    empty = ends[level <= 0]
    return float(empty[0]) if len(empty) else np.inf


def on_decode(s: Situation, phase: str) -> Floats:
    """Imports and first steps on decode workers that are still cold, at several times what they usually take,
    and with no prompt computed beside them.
    """
    r = s.requests
    took = r.duration(phase)
    known = took[np.isfinite(took) & (took > 0)]
    usual = max(float(np.median(known)), 1e-3) if len(known) > ENOUGH_LATER else np.inf
    cold = s.of(while_cold(s, r.decode_worker, r.began(phase), took / usual))
    since, until = (np.nan_to_num(edge) for edge in s.wait(phase))
    beside = s.pools.decode_local_prompts.mean(s.decode_worker, since, until) > 0
    return where(cold & ~beside & (s.exposed[:, PART[phase]] > TIMES_LATER * usual))


def tokens(s: Situation) -> Floats:
    """The part of what streams were late by that they lost on a decode worker still cold, which was its usual
    self later: what stands still for compiling is spread over a stream's tokens.
    """
    r, expected = s.requests, s.step.expected
    ratio, began = r.tpot / expected, r.began("decode")
    cold = while_cold(s, r.decode_worker, began, ratio) & usual_later(r.decode_worker, began, ratio)
    lost = s.of(r.tpot) - s.of(expected)
    part = np.clip(lost / np.where(s.over_tpot > 0, s.over_tpot, np.inf), 0.0, 1.0)
    found: Floats = where(s.of(cold & (ratio >= USUAL))) * np.nan_to_num(part)
    return found


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How the first uses compare with later ones."""
    ratio = first_of_pair(s)
    cold = ratio >= TIMES_LATER
    took = s.transfers.seconds
    usual = took[np.isfinite(took) & ~cold]
    moved = known_by(s, "kv_transfer", chosen)
    return [
        *count("first_uses", cold, "transfers"),
        *median("first_transfer", took, cold, "s", moved),
        *median("later_transfers", usual, np.ones(len(usual), bool), "s", moved),
        *part(s, "prefill_compute", chosen),
    ]


def explain_tokens(s: Situation, chosen: Flags) -> list[Evidence]:
    """What a token took, and usually takes there."""
    return [
        *median("tpot", s.of(s.requests.tpot), chosen),
        *median("tpot.expected", s.of(s.step.expected), chosen, "s", str(s.step.source)),
        *median("objective.tpot", s.of(s.requests.tpot_limit), chosen, "s", "supplied"),
    ]


_NEXT = "Warm up before taking traffic: one request over every pair of workers after a start or a scale-up."
TRANSFER = Rule(
    Cause.COLD_START, ("kv_transfer",), transfer, explain, _NEXT,
    needs=("kv_transfer",), excludes="pairs that are slow later as well",
)  # fmt: skip
COMPUTE = Rule(
    Cause.COLD_START, ("prefill_compute",), compute, explain, _NEXT,
    needs=("prefill_compute",), excludes="workers that did not start shortly before",
)  # fmt: skip
BEHIND = Rule(
    Cause.COLD_START, ("prefill_queue",), behind, explain, _NEXT,
    needs=("prefill_compute", "process.creation.time"), excludes="queues that no cold prompt began",
)  # fmt: skip
ON_DECODE = Rule(
    Cause.COLD_START, ("kv_import",), partial(on_decode, phase="kv_import"), explain, _NEXT,
    needs=("kv_import", "process.creation.time"), excludes="workers that did not start shortly before",
)  # fmt: skip
FIRST_STEP = Rule(
    Cause.COLD_START, ("first_decode_step",), partial(on_decode, phase="first_decode_step"), explain, _NEXT,
    needs=("first_decode_step", "process.creation.time"), excludes="workers not started shortly before",
)  # fmt: skip
TOKENS = Rule(
    Cause.COLD_START, ("tpot.running",), tokens, explain_tokens,
    "Warm up before taking traffic: every batch size decode will run, after each start.",
    needs=("decode", "process.creation.time"), excludes="workers that are as slow later on", confidence=0.85,
)  # fmt: skip
