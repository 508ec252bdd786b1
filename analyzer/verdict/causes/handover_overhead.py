"""Between the pools, neither computing nor moving bytes: publishing, dispatch, alignment, first token."""

import numpy as np

from analyzer.verdict.causes.link import idle_wait
from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, everything, where
from analyzer.verdict.situation import STEPS_TO_JOIN, Situation
from analyzer.verdict.tables import PART, Flags, Floats
from analyzer.verdict.vocabulary import Cause


def gap(s: Situation) -> Floats:
    """The part of the uncovered time that lies between the offer of KV and decode having the request.

    Only where both sides' spans are there: then nothing but the way between them is left. And only what
    exceeds the doubt about the two clocks, which is not bounded where one of them is not. Time that spans
    bound, as that in which decode had yet to take what was sent to it, is covered.
    """
    offered = s.wait("kv_publish")[1]
    r = s.requests
    next_known = np.fmin(s.of(r.began("decode_queue")), s.of(r.began("kv_transfer")))
    seen = np.isfinite(s.of(r.began("decode_queue"))) & np.isfinite(s.of(r.began("kv_transfer")))
    bare = s.exposed[:, PART["unattributed"]]
    between = np.where(seen, np.maximum(next_known - offered - s.between_pools_doubt, 0.0), 0.0)
    between = np.minimum(between, np.maximum(bare - s.of(r.composite), 0.0))
    share: Floats = np.clip(np.nan_to_num(between / np.where(bare > 0, bare, np.inf)), 0.0, 1.0)
    return share


def taken(s: Situation) -> Floats:
    """Waits for decode of requests that it took in the end, or that were answered."""
    r, after = s.requests, ("kv_transfer", "kv_import", "first_decode_step", "decode")
    seen = np.any([np.isfinite(s.of(r.began(phase))) for phase in after], axis=0)
    return where(seen | ~s.failed)


def before_bytes(s: Situation) -> Floats:
    """The part of a transfer's excess before its first byte was posted, while its path was idle."""
    excess = s.excess[:, PART["kv_transfer"]]
    waited = np.nan_to_num(s.of_hand_off(idle_wait(s)))
    notable = waited > MOSTLY_BYTES * np.nan_to_num(s.of_hand_off(s.transfers.seconds))
    part = np.clip(waited / np.where(excess > 0, excess, np.inf), 0.0, 1.0)
    return np.where(notable & (excess > 0), part, 0.0)


MOSTLY_BYTES = 0.25
"""A shorter wait, as a share of the transfer, is what any of them has."""


def outlasts_bytes(s: Situation, least: float) -> bool:
    """Whether the control path usually takes longer than the bytes, and at least that share of the objective.

    A shorter one is what any hand-over costs. Steps that a new stream waits for in any case do not count.
    """
    r = s.requests
    timed = r.inside & r.answered & np.isfinite(r.exposed[:, 0])
    if not timed.any():
        return False
    took = {
        name: np.nan_to_num(r.exposed[timed, PART[name]])
        for name in (*RULE.parts, *IN_QUEUE.parts, "kv_transfer")
    }
    step = np.where(np.isfinite(r.tpot), r.tpot, s.pools.step_time)[timed]
    took["decode_queue"] = np.maximum(took["decode_queue"] - STEPS_TO_JOIN * step, 0.0)
    took["first_decode_step"] = np.maximum(took["first_decode_step"] - step, 0.0)
    bytes_moved = float(np.median(took.pop("kv_transfer")))
    control = np.sum(list(took.values()), axis=0)
    return bool(np.median(control / r.ttft_limit[timed]) >= least and np.median(control) >= bytes_moved)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Each part of the hand-over beside the transfer itself."""
    parts = ("kv_publish", "decode_queue", "kv_import", "first_decode_step", "kv_transfer")
    return [item for name in parts for item in part(s, name, chosen)]


def explain_wait(s: Situation, chosen: Flags) -> list[Evidence]:
    """How long transfers waited before they began."""
    return [*part(s, "kv_transfer", chosen), *median("kv.waited", s.of_hand_off(s.transfers.waited), chosen)]


_SHORTEN = (
    "Shorten the control path: dispatch decode before prefill ends, import between steps, and do not "
    "compute the first token twice."
)
RULE = Rule(
    Cause.HANDOVER_OVERHEAD,
    ("kv_publish", "kv_import", "first_decode_step"),
    everything,
    explain,
    _SHORTEN,
    needs=("kv_publish", "decode_queue", "kv_import"),
    excludes="decode without room; bytes in flight",
    confidence=0.85,
)
IN_QUEUE = Rule(
    Cause.HANDOVER_OVERHEAD,
    ("decode_queue",),
    taken,
    explain,
    _SHORTEN,
    needs=("kv_publish", "decode_queue", "kv_import"),
    excludes="decode without room; requests that decode never took: what those waited for does not show",
    confidence=0.85,
)
GAP = Rule(
    Cause.HANDOVER_OVERHEAD,
    ("unattributed",),
    gap,
    explain,
    "Time passes between prefill's offer and decode's having the request: trace and shorten the "
    "router's dispatch.",
    needs=("kv_publish", "kv_transfer", "decode_queue"),
    excludes="gaps where the spans of either side are missing",
    confidence=0.75,
)
BEFORE_BYTES = Rule(
    Cause.HANDOVER_OVERHEAD,
    ("kv_transfer",),
    before_bytes,
    explain_wait,
    "Transfers were asked for long before their first byte was posted, beside an idle path: look at what "
    "posts them (poll intervals, threads, the other side's readiness).",
    needs=("pd.kv.wait_ms",),
    excludes="waits while other transfers moved at either end",
    confidence=0.85,
)
