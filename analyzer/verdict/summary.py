"""One sentence that says what is wrong, for a page at night."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analyzer.verdict.causes import chance, stood_still
from analyzer.verdict.situation import Situation
from analyzer.verdict.untold import untold
from analyzer.verdict.vocabulary import Cause

SHORT = {
    Cause.PREFILL_STARVED: "waited for prefill while decode had room",
    Cause.DECODE_STARVED: "waited for decode, which lacked slots or KV",
    Cause.INTRA_POOL_SKEW: "waited on a hot worker while its siblings idled",
    Cause.OVERLOAD: "waited for two full pools",
    Cause.PREFILL_BOUND: "had prompts whose own prefill exceeds the objective",
    Cause.DECODE_BOUND: "had decode steps longer than the objective",
    Cause.SLOW_LINK: "waited for KV on a path slower than it should be",
    Cause.LINK_CONTENTION: "shared a full path for their KV",
    Cause.MANY_SMALL_BLOCKS: "waited for KV cut into many small blocks",
    Cause.TCP_FALLBACK: "had their KV sent over TCP although a faster way exists",
    Cause.REDUNDANT_PREFIX: "waited for KV that decode already held",
    Cause.STALE_PEER: "failed in a hand-off to a peer of which one side kept an old state",
    Cause.EXPIRED_BEFORE_READ: "had their KV read after its lease ended",
    Cause.UNCLAIMED: "waited behind, or left, KV that no decode will read",
    Cause.LEAKED: "waited behind KV that is never reclaimed",
    Cause.RESERVED_NEVER_FILLED: "waited behind decode room held for KV that will not come",
    Cause.DECODE_RECOMPUTE: "were slowed by prompts that decode recomputes",
    Cause.PREFILL_IN_STEP: "shared their steps with prompts",
    Cause.PREEMPTION: "were preempted on decode",
    Cause.ROUTER_QUEUE: "waited in the router",
    Cause.TOKENIZER_SLOW: "waited for tokenisation",
    Cause.BACKPRESSURE: "had a first token that the server was slow to send",
    Cause.CLIENT_STALL: "had a token ready that the client did not read",
    Cause.COLD_START: "paid for a first use",
    Cause.CANCELLED: "waited behind work for clients that had left",
    Cause.RETRY_AMPLIFICATION: "were dispatched more than once",
    Cause.VERSION_MISMATCH: "failed between two sides that do not match",
    Cause.HANDOVER_OVERHEAD: "lost their time in the hand-over's control path",
    Cause.INSUFFICIENT_EVIDENCE: "cannot be explained by what is sent",
}

ABSTAINED = {
    chance.RULE.next_step: "missed by ordinary waits, for which the objective leaves no room",
    stood_still.NEXT: "lost their time while a worker stood still",
}
"""What is said of misses that no cause explains where it is known why, by the step that follows."""


def summarize(s: Situation, counts: Any, dominant: Cause, causes: Sequence[Any]) -> str:
    """Sentence about a window."""
    if not counts.total:
        return "No request started in this window."
    if not counts.evaluated:
        return f"{_unjudged(counts)}{_left(s)}."
    head = f"{counts.missed:,} of {counts.evaluated:,} requests missed"
    if dominant is Cause.NONE:
        return (
            f"{head}: the objective is met."
            if counts.missed
            else f"All {counts.evaluated:,} requests met it."
        )
    answer = causes[0]
    text = f"{head}; {answer.requests:,.0f} {_short(answer)}"
    if answer.excess_ttft:
        text += f" (p50 {_seconds(answer.excess_ttft[0])} of TTFT)"
    elif answer.excess_tpot:
        text += f" (p50 {answer.excess_tpot[0] * 1e3:.1f} ms a token over)"
    if dominant is Cause.INSUFFICIENT_EVIDENCE:
        text += untold(s, counts)
    elif counts.rejected:
        text += f"; {counts.rejected:,} of all were refused"
    used = s.loaded.readings.pool_mean("kv_used_fraction", s.pools.decode_workers.tolist())
    if used is not None and dominant in (Cause.PREFILL_STARVED, Cause.DECODE_STARVED, Cause.OVERLOAD):
        text += f"; decode used {used:.0%} of its KV"
    second = causes[1] if len(causes) > 1 else None
    if second is not None and second.share >= 0.1:
        text += f"; {second.requests:,.0f} {_short(second)}"
    return text + "."


def _short(answer: Any) -> str:
    return ABSTAINED.get(answer.next_step, SHORT[answer.cause])


def _unjudged(counts: Any) -> str:
    """Why no request of the window is judged."""
    apart = {
        "left by their clients": counts.cancelled,
        "refused as invalid": counts.invalid,
        "seen in part, or not ended yet": counts.incomplete,
    }
    told = ", ".join(f"{number:,} {how}" for how, number in apart.items() if number)
    started = "1 request" if counts.total == 1 else f"{counts.total:,} requests"
    return f"{started} started, none to be judged: {told}"


def _left(s: Situation) -> str:
    """Requests of the window whose KV nobody read, when there are any."""
    book, of = s.ledger, s.transfers.request
    owners = of[book.transfer[book.orphan]]
    number = len(np.unique(owners[s.requests.inside[owners]]))
    return f"; {number:,} left KV that nobody read" if number else ""


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{np.round(value * 1e3):.0f} ms"
