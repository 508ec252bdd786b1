"""Misses by ordinary waits, for which the objective leaves no room: nobody's; no telemetry tells more."""

import numpy as np

from analyzer.verdict.evidence import Evidence
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import COLUMN, Cause


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """The waits that were ordinary."""
    return [item for name in ("prefill_queue", "decode_queue") for item in part(s, name, chosen)]


RULE = Rule(
    Cause.INSUFFICIENT_EVIDENCE,
    (),
    lambda s: np.zeros(len(s.rows)),
    explain,
    "They waited no longer than is ordinary in pools with room; the objective leaves no time for it. Look at "
    "the causes beside it, or give the objective more room.",
)
"""Asked by no part: `leave` says when it is the reason for abstaining."""


def leave(out: Floats, ordinary: Floats) -> float:
    """Part from chance what the hand-over claims, which is what nothing else explains between the pools.

    out: (missed, causes) seconds claimed, changed in place. ordinary: (missed,) seconds of ordinary waits.
    Where these took as much, a request missed by either: that share of the claim is nobody's. Returns
    the seconds left to chance.
    """
    claimed = out[:, COLUMN[Cause.HANDOVER_OVERHEAD]]
    chance = claimed * ordinary / np.maximum(claimed + ordinary, 1e-12)
    out[:, COLUMN[Cause.HANDOVER_OVERHEAD]] -= chance
    out[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] += chance
    return float(chance.sum())
