"""Prompt chunks share steps with running streams: colocated pools, or follow-ups prefilled on decode."""

import numpy as np

from analyzer.verdict.causes.beside_prompts import prompts_on_decode, slower
from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause

OVERLAP = 0.05
"""Share of a stream's time beside prompts from which on they lengthen it noticeably."""


def overlap(s: Situation) -> Floats:
    """Mean prompts computed on the stream's worker while it ran."""
    since, until = (np.nan_to_num(edge) for edge in s.wait("decode"))
    return prompts_on_decode(s).mean(s.decode_worker, since, until)


def claim(s: Situation) -> Floats:
    """Streams that shared their worker with prompts: by how much that lengthened their steps."""
    return where(overlap(s) >= OVERLAP) * slower(s)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How much of the time, and what a token took."""
    return [
        *median("stream.beside_prompts", overlap(s), chosen, "prompts", "derived"),
        *median("tpot", s.of(s.requests.tpot), chosen),
    ]


RULE = Rule(
    Cause.PREFILL_IN_STEP,
    ("tpot.running",),
    claim,
    explain,
    "Separate prefill from decode, or bound the prompt tokens per mixed step (chunk size).",
    needs=("prefill_compute",),
    excludes="workers that computed no prompt meanwhile",
)
