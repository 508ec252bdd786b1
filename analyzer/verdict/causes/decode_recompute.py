"""Decode computes prompts that should have come over, beside streams: a hand-off failed or is missing."""

import numpy as np

from analyzer.verdict.causes.beside_prompts import slower
from analyzer.verdict.evidence import Evidence, median, number
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause

OVERLAP = 0.05
"""Share of a stream's time beside recomputed prompts from which on they are what slows it."""


def itself(s: Situation) -> Floats:
    """Requests whose own prompt decode had to compute."""
    return where((s.of(s.requests.local_prompt_tokens) > 0) & ~s.of(s.requests.appended))


def load(s: Situation) -> Floats:
    """The time until a transfer gave up, of requests whose prompt decode then had to compute."""
    return itself(s) * (s.of_hand_off(s.transfers.gave_up.astype(np.float64), 0.0) > 0)


def beside(s: Situation) -> Floats:
    """Streams that ran while their worker recomputed prompts: by how much that lengthened their steps."""
    since, until = (np.nan_to_num(edge) for edge in s.wait("decode"))
    found = s.pools.decode_local_prompts.mean(s.decode_worker, since, until)
    return where((found >= OVERLAP) | (itself(s) > 0)) * slower(s)


def first_step(s: Situation) -> Floats:
    """First steps that shared their worker with recomputed prompts."""
    since, until = (np.nan_to_num(edge) for edge in s.wait("first_decode_step"))
    found = s.pools.decode_local_prompts.mean(s.decode_worker, since, until)
    return where((found > OVERLAP) | (itself(s) > 0))


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How much prompt work decode did, and how much of the time."""
    r = s.requests
    since, until = (np.nan_to_num(edge) for edge in s.wait("decode"))
    local = np.where(r.appended, 0.0, np.nan_to_num(r.local_prompt_tokens))
    total = float(np.nansum(r.input_tokens))
    overlap = s.pools.decode_local_prompts.mean(s.decode_worker, since, until)
    return [
        *number(
            "decode.local_prompt_tokens", float(local.sum()) / total if total else None, "fraction", "derived"
        ),
        *number("requests_recomputed", float((local > 0).sum()), "requests"),
        *median("stream.beside_recompute", overlap, chosen, "fraction", "derived"),
        *median("tpot", s.of(r.tpot), chosen),
    ]


_NEXT = (
    "Find why loads fail (connector log, lease, peer), and fail or retry them instead of recomputing "
    "on decode; or bound prompt tokens per decode step."
)
ITSELF = Rule(
    Cause.DECODE_RECOMPUTE, ("kv_import", "decode_queue", "tpot.recompute"), itself, explain, _NEXT,
    needs=("pd.local_prompt_tokens",), excludes="short follow-up turns prefilled on decode on purpose",
)  # fmt: skip
LOAD = Rule(
    Cause.DECODE_RECOMPUTE, ("kv_transfer",), load, explain, _NEXT,
    needs=("pd.local_prompt_tokens", "pd.kv.status"), excludes="transfers that brought their bytes",
)  # fmt: skip
FIRST_STEP = Rule(
    Cause.DECODE_RECOMPUTE, ("first_decode_step",), first_step, explain, _NEXT,
    needs=("pd.local_prompt_tokens",), excludes="short follow-up turns prefilled on decode on purpose",
)  # fmt: skip
BESIDE = Rule(
    Cause.DECODE_RECOMPUTE, ("tpot.running",), beside, explain, _NEXT,
    needs=("pd.local_prompt_tokens",), excludes="streams whose worker recomputed nothing meanwhile",
)  # fmt: skip
